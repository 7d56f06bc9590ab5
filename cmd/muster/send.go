package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/muster-scale/muster/internal/host"
	"github.com/spf13/cobra"
)

// load is what muster send sends.
type load struct {
	count    int
	body     string
	bodies   string
	duration time.Duration
	spread   float64
	seed     uint64
	rate     float64
	over     time.Duration
}

const (
	maxLoad   = 10_000_000
	batchSize = 10
)

func newSend(g *global) *cobra.Command {
	var (
		l   load
		url string
	)
	cmd := &cobra.Command{
		Use:   "send --queue NAME|URL",
		Short: "Send messages: test load, or the lines of a file",
		Example: `  muster send --queue thumbnails --count 50 --duration 1.25s
  muster send --queue thumbnails --count 1000 --duration 2s --spread 0.5 --rate 20
  muster send --queue URL --bodies requests.jsonl --over 5m`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bodies, err := l.make(cmd.InOrStdin())
			if err != nil {
				return usage(err)
			}
			if url, err = g.queueURL(url); err != nil {
				return err
			}
			client, err := g.sqsClient(cmd.Context(), url)
			if err != nil {
				return err
			}
			started := time.Now()
			sent, err := l.send(cmd.Context(), client, url, bodies, newProgress(cmd.ErrOrStderr(), "sent", len(bodies)))
			seconds := time.Since(started).Seconds()
			if err != nil {
				return fmt.Errorf("%d of %d messages were sent: %w", sent, len(bodies), explainSQS(err))
			}
			if g.json() {
				return printJSON(cmd.OutOrStdout(), map[string]any{"sent": sent, "seconds": seconds})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "sent %d messages in %.1f s\n", sent, seconds)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&url, "queue", "", "the queue's name, or its URL")
	f.IntVar(&l.count, "count", 1, "how many messages")
	f.StringVar(&l.body, "body", "hello", "the body of every message")
	f.StringVar(&l.bodies, "bodies", "", "a file with one body a line, - for standard input; count is then the most that are sent")
	f.DurationVar(&l.duration, "duration", 0, "bodies that hold a processing duration, for muster work -- muster sleep-body")
	f.Float64Var(&l.spread, "spread", 0, "how much durations vary: standard deviation over mean, lognormal")
	f.Uint64Var(&l.seed, "seed", 1, "the seed of the durations")
	f.Float64Var(&l.rate, "rate", 0, "messages a second; 0 sends as fast as it goes")
	f.DurationVar(&l.over, "over", 0, "send evenly over so long, in place of --rate")
	cmd.MarkFlagRequired("queue")
	return cmd
}

// make returns the bodies to send, or what is wrong with the flags.
func (l *load) make(stdin io.Reader) ([]string, error) {
	switch {
	case l.count < 1 || l.count > maxLoad:
		return nil, fmt.Errorf("--count: found %d, allowed is 1 to %d", l.count, maxLoad)
	case l.rate < 0 || l.over < 0 || l.spread < 0 || l.spread > 10 || l.duration < 0:
		return nil, errors.New("--rate, --over, --duration and --spread are at least 0, and --spread at most 10")
	case l.rate > 0 && l.over > 0:
		return nil, errors.New("give --rate or --over, not both")
	case l.bodies != "":
		return l.lines(stdin)
	}
	random := rand.New(rand.NewPCG(l.seed, 0))
	bodies := make([]string, l.count)
	for i := range bodies {
		bodies[i] = l.body
		if l.duration > 0 {
			bodies[i] = time.Duration(float64(l.duration) * lognormal(random, l.spread)).Round(time.Microsecond).String()
		}
	}
	return bodies, nil
}

// lognormal draws from the lognormal distribution of mean 1 with the given coefficient of variation.
func lognormal(random *rand.Rand, cv float64) float64 {
	sigma2 := math.Log(1 + cv*cv)
	return math.Exp(random.NormFloat64()*math.Sqrt(sigma2) - sigma2/2)
}

func (l *load) lines(stdin io.Reader) ([]string, error) {
	in := stdin
	if l.bodies != "-" {
		f, err := os.Open(l.bodies)
		if err != nil {
			return nil, fmt.Errorf("--bodies: %w", err)
		}
		defer f.Close()
		in = f
	}
	most := l.count
	if most == 1 {
		most = maxLoad // the flag was left at its default
	}
	var bodies []string
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20+1)
	for lines.Scan() && len(bodies) < most {
		if strings.TrimSpace(lines.Text()) != "" {
			bodies = append(bodies, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("--bodies: line %d: %w; a body is at most 1 MiB", len(bodies)+1, err)
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("--bodies: %s holds no line with a body", l.bodies)
	}
	return bodies, nil
}

// send sends the bodies at the wanted rate and returns how many were accepted.
func (l *load) send(ctx context.Context, client *awssqs.Client, url string, bodies []string, p *progress) (sent int, err error) {
	defer p.done()
	rate := l.rate
	if l.over > 0 {
		rate = float64(len(bodies)) / l.over.Seconds()
	}
	started := time.Now()
	for sent < len(bodies) {
		n := min(batchSize, len(bodies)-sent)
		if rate > 0 {
			// Messages go out when they are due, so that a slow answer does not lower the rate.
			due := started.Add(time.Duration(float64(sent) / rate * float64(time.Second)))
			if err := host.Sleep(ctx, time.Until(due)); err != nil {
				return sent, err
			}
			late := int(time.Since(started).Seconds()*rate) - sent + 1
			n = min(n, max(1, late))
		}
		if err := sendBatch(ctx, client, url, bodies[sent:sent+n]); err != nil {
			return sent, err
		}
		sent += n
		p.at(sent)
	}
	return sent, nil
}

func sendBatch(ctx context.Context, client *awssqs.Client, url string, bodies []string) error {
	// A batch is at most 1 MiB in all: large bodies go alone.
	size := 0
	for _, b := range bodies {
		size += len(b)
	}
	if len(bodies) > 1 && size > 1<<20 {
		half := len(bodies) / 2
		if err := sendBatch(ctx, client, url, bodies[:half]); err != nil {
			return err
		}
		return sendBatch(ctx, client, url, bodies[half:])
	}
	in := &awssqs.SendMessageBatchInput{QueueUrl: &url}
	for i, b := range bodies {
		id := strconv.Itoa(i)
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &b})
	}
	out, err := client.SendMessageBatch(ctx, in)
	if err != nil {
		return err
	}
	if len(out.Failed) > 0 {
		f := out.Failed[0]
		return fmt.Errorf("%s: %s", deref(f.Code), deref(f.Message))
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
