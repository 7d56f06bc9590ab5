package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/turns"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/sharing"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/server/board"
	"github.com/muster-scale/muster/sqsapi"
)

// The files and folders of a data directory.
const (
	KeysFile    = "sqs-keys.json"
	TokenFile   = "api-token"
	HistoryFile = "history.db"
	QueueFile   = "queues.db"
	CurvesFile  = "curves.db"
	membersDir  = "members"
	logsDir     = "logs"
)

// historyKeep is how long the history keeps a record.
const historyKeep = 7 * 24 * time.Hour

// store is the history as the API and the loops use it.
type store interface {
	muster.History
	server.Decisions
	board.History
	io.Closer
	Prune(ctx context.Context, now time.Time, keep time.Duration) (history.Pruned, error)
}

// openData opens what the data directory holds: queues, keys, token and history. An ephemeral App keeps queues and
// history in memory, but keys and token are files even then, because clients and commands read them there.
func (a *App) openData(ctx context.Context) (err error) {
	data := a.config.Data
	if err := durable.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	strict := a.config.Strict || a.options.Strict
	where := queue.Options{Dir: data, Strict: strict, Logger: a.options.Logger}
	if a.options.Ephemeral {
		where = queue.Options{Ephemeral: true, Strict: strict, Logger: a.options.Logger}
	}
	waits := a.config.Controllers.Store == sharing.File && !a.options.Look
	if a.queues, err = turns.OpenQueues(ctx, where, waits, a.options.Told); err != nil {
		return err
	}
	if a.keys, err = sqsapi.LoadOrCreateKeys(filepath.Join(data, KeysFile)); err != nil {
		return err
	}
	if a.token, err = server.LoadOrCreateToken(filepath.Join(data, TokenFile)); err != nil {
		return err
	}
	if err := a.openShared(ctx); err != nil {
		return err
	}
	switch {
	case a.history != nil: // of several controllers
	case a.options.Ephemeral:
		a.history = history.NewMemory()
	default:
		if a.history, err = a.openHistory(filepath.Join(data, HistoryFile)); err != nil {
			return err
		}
	}
	if a.options.Look {
		return nil
	}
	if err := a.openCurves(ctx); err != nil {
		return err
	}
	return a.createQueues(ctx, a.config)
}

// openHistory opens the history. It replaces a damaged one by a new one, because Muster can work without its past. The
// results are checked one by one: a nil *history.History in a store would not be nil.
func (a *App) openHistory(path string) (store, error) {
	if a.options.Look {
		h, err := history.Open(path, history.Options{})
		if err != nil {
			return nil, err
		}
		return h, nil
	}
	h, found, err := history.OpenRecovered(path, history.Options{}, time.Now())
	if err != nil {
		return nil, err
	}
	if found != nil {
		a.options.Logger.Error("the history is damaged", "error", found)
		a.options.Told(found.Error())
		a.faults.set(historyFault, found.Error())
	}
	return h, nil
}

// createQueues makes the queues that c names and sets their attributes.
func (a *App) createQueues(ctx context.Context, c *config.Config) error {
	// A queue may be named several times: by queues:, by fleets, and as a dead-letter queue.
	made := map[string]bool{}
	create := func(name string, attributes map[string]string) error {
		if made[name] {
			return nil
		}
		made[name] = true
		var kind map[string]string
		if strings.HasSuffix(name, ".fifo") {
			kind = map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"}
		}
		err := a.queues.CreateQueue(ctx, name, kind, nil)
		if err == nil && len(attributes) > 0 {
			err = a.queues.SetAttributes(ctx, name, attributes)
		}
		if err != nil {
			return fmt.Errorf("make the queue %s: %w", name, err)
		}
		return nil
	}
	for _, q := range c.Queues {
		attributes := map[string]string{
			"VisibilityTimeout": wholeSeconds(q.Visibility), "DelaySeconds": wholeSeconds(q.Delay),
			"MessageRetentionPeriod": wholeSeconds(q.Retention),
		}
		if dead := q.DeadLetter; dead.Queue != "" {
			if err := create(dead.Queue, nil); err != nil {
				return err
			}
			attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:%s","maxReceiveCount":%d}`, dead.Queue, dead.After)
		}
		delete(made, q.Name) // it may exist as the dead-letter queue of another, without its own attributes
		if err := create(q.Name, attributes); err != nil {
			return err
		}
	}
	// The queues of fleets come after those of queues:, which may set attributes for the same names.
	for _, f := range c.Fleets {
		served := f.Queues
		for _, part := range f.Parts() {
			served = append(slices.Clip(served), part.Workers.DeadLetter)
		}
		for _, q := range served {
			if !q.Own() || q.Name == "" {
				continue
			}
			if err := create(q.Name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// wholeSeconds renders a duration in seconds, the unit of SQS attributes.
func wholeSeconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// prune removes records older than historyKeep every ten minutes. A removal is limited, so it repeats until nothing is
// left, without waiting. A failure is logged and tried again: an old record does no harm.
func (a *App) prune(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Minute)
	defer tick.Stop()
	for {
		for more := true; more && ctx.Err() == nil; {
			p, err := a.history.Prune(ctx, time.Now().UTC(), historyKeep)
			if err != nil && ctx.Err() == nil {
				a.options.Logger.Warn("old records could not be removed from the history", "error", err)
			}
			more = err == nil && p.More
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// fleetTokensDir holds the token of each remote fleet, with which its workers report.
const fleetTokensDir = "fleet-tokens"

// FleetTokenFile is the file of a fleet's token.
func (a *App) FleetTokenFile(fleet string) string {
	return filepath.Join(a.config.Data, fleetTokensDir, fleet)
}

// keepFleetToken writes the token of a remote fleet to a file, which an operator copies to its machines. Only the owner
// can read it.
func (a *App) keepFleetToken(c config.Fleet) error {
	if facts := c.Facts(); facts.Local || !facts.Reported || a.options.Look {
		return nil
	}
	path := a.FleetTokenFile(c.Name)
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write the report token of the fleet: %w", err)
	}
	// The token is derived from that of the API, so it is the same after a restart.
	text := a.token.Fleet(c.Name).Reveal() + "\n"
	if found, err := os.ReadFile(path); err == nil && string(found) == text {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write the report token of the fleet: %w", err)
	}
	if err := durable.Create(path, []byte(text)); err != nil {
		return fmt.Errorf("write the report token of the fleet: %w", err)
	}
	return nil
}
