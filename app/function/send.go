package function

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/muster-scale/muster/app/testload"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kinds/remote"
)

const (
	// VariableCount is the default number of test messages.
	VariableCount = "MUSTER_COUNT"
	// VariableDuration is the default duration of the work of one message, as in 25s; by default 1s.
	VariableDuration = "MUSTER_DURATION"
	// VariableSpread is the default coefficient of variation of that duration; by default 0.
	VariableSpread = "MUSTER_SPREAD"
	// maxSent bounds the messages of one invocation, so that they are sent within its time.
	maxSent = 10_000
)

// load is the payload of the function send. Absent fields have the values of the environment.
type load struct {
	Queue    string  `json:"queue"`
	Count    int     `json:"count"`
	Duration string  `json:"duration"`
	Spread   float64 `json:"spread"`
	Seed     uint64  `json:"seed"`
}

// Sent is the answer of the function send.
type Sent struct {
	Queue string `json:"queue"`
	Sent  int    `json:"sent"`
}

// openSend opens the function send.
func openSend(ctx context.Context, e environment) (invocation, error) {
	account, err := e.account(ctx)
	if err != nil {
		return nil, err
	}
	given := load{Queue: e.text(VariableQueue), Duration: cmp.Or(e.text(VariableDuration), "1s"), Seed: 1}
	for _, v := range []struct {
		name, otherwise string
		into            any
	}{{VariableCount, "1", &given.Count}, {VariableSpread, "0", &given.Spread}} {
		if err := json.Unmarshal([]byte(cmp.Or(e.text(v.name), v.otherwise)), v.into); err != nil {
			return nil, fmt.Errorf("found %s=%q, allowed is a number", v.name, e.text(v.name))
		}
	}
	return func(ctx context.Context, payload []byte) (any, error) {
		l := given
		if len(payload) > 0 {
			if err := json.Unmarshal(payload, &l); err != nil {
				return nil, fmt.Errorf("decode the payload: %w; allowed are queue, count, duration, spread and seed",
					err)
			}
		}
		takes, err := time.ParseDuration(l.Duration)
		if err != nil || takes < 0 || l.Count < 1 || l.Count > maxSent || l.Spread < 0 {
			return nil, fmt.Errorf("found count %d, duration %q and spread %g; allowed are 1 to %d, a duration as in "+
				"25s and a number from 0 on", l.Count, l.Duration, l.Spread, maxSent)
		}
		q, err := queueAt(l.Queue)
		if err != nil {
			return nil, err
		}
		cfg, err := account.Region(q.Region)
		if err != nil {
			return nil, err
		}
		make := testload.Load{Count: l.Count, Duration: takes, Spread: l.Spread, Seed: l.Seed}
		if takes == 0 {
			make.Body = "0s"
		}
		bodies, err := make.Make(nil)
		if err != nil {
			return nil, err
		}
		sent, err := make.Send(ctx, sqs.NewFromConfig(cfg), q.URL, bodies, io.Discard)
		if err != nil {
			return nil, fmt.Errorf("send test messages to %s: %d of %d were sent: %w", l.Queue, sent, l.Count, err)
		}
		e.Logger.Info("sent test messages", "queue", l.Queue, "messages", sent, "duration", l.Duration)
		return Sent{l.Queue, sent}, nil
	}, nil
}

// queueAt returns the queue with the given URL.
func queueAt(url string) (config.QueueRef, error) {
	for _, row := range remote.Table().Queues {
		if !row.Takes(url) {
			continue
		}
		q, found, allowed := row.Refer(url)
		if allowed != "" {
			return q, fmt.Errorf("%s: found %s, allowed is %s", VariableQueue, found, allowed)
		}
		return q, nil
	}
	return config.QueueRef{}, fmt.Errorf("found the queue %q; set %s to the URL of one on SQS", url, VariableQueue)
}
