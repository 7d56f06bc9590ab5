package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/sqsapi"
)

// The files of a data directory.
const (
	keysFile    = "sqs-keys.json"
	tokenFile   = "api-token"
	historyFile = "history.db"
	queueFile   = "queues.db"
	membersDir  = "members"
	logsDir     = "logs"
)

// historyKeep is how long records are kept.
const historyKeep = 7 * 24 * time.Hour

// local is everything that runs on this machine for one configuration: the embedded queue and its endpoint, a loop and a
// process fleet for each fleet, and the HTTP API.
type local struct {
	config  *config.Config
	options localOptions
	queues  *queue.Service
	keys    sqsapi.Keys
	token   server.Token
	history store
	trees   *foresight
	sqs     net.Listener
	api     net.Listener
	// beyond are the listeners for other machines, with what they serve.
	beyond  []beyond
	conns   *accept.Pool // the connections of all listeners
	fleets  *fleets
	faults  faults
	amazon  amazon
	servers struct {
		sqs, api *http.Server
		front    *sqsapi.Front // serves what sqs does, on loopback
	}
	// serving ends when the servers are about to stop.
	serving     context.Context
	stopServing context.CancelFunc
}

// spareConnections is how many more connections than the others the API may have.
const spareConnections = 16

// beyond is a listener for other machines.
type beyond struct {
	net.Listener
	api bool // else the SQS endpoint
}

// store is a history as the commands need it.
type store interface {
	muster.History
	server.Decisions
	io.Closer
	Prune(ctx context.Context, now time.Time, keep time.Duration) (history.Pruned, error)
}

type localOptions struct {
	// ephemeral keeps queue and history in memory.
	ephemeral bool
	// look changes nothing that is there: queues are taken as they are.
	look bool
	// anyCredentials accepts any signature at the SQS endpoint.
	anyCredentials bool
	// shadow makes every fleet one that is only watched, also where the configuration does not say so.
	shadow bool
	// strict lets the queues refuse for 60 s what AWS refuses, also when the configuration does not say so.
	strict bool
	logger *slog.Logger
	// notify is called after every step of any fleet.
	notify func(controller.Outcome)
	// env is added to every worker's environment.
	env []string
	// watch is the path of the configuration that is read again when it changes; empty for none.
	watch string
	// told says, in a line for a person, what came of reading it again.
	told func(string)
}

// watched returns the fleet as the options have it. In shadow nothing is handed to AWS's target tracking, which goes by what
// it was given last: the policy decides beside it.
func (o localOptions) watched(f config.Fleet) config.Fleet {
	if o.shadow {
		f.Policy.Shadow, f.Delegate, f.Policy.Delegate = true, nil, nil
	}
	return f
}

// openLocal opens the data and the ports. What it opened is closed again when it fails.
func openLocal(ctx context.Context, c *config.Config, o localOptions) (l *local, err error) {
	l = &local{config: c, options: o, trees: newForesight(treesPlace(c.Data))}
	if l.options.told == nil {
		l.options.told = func(string) {}
	}
	l.fleets = newFleets(l.openFleet, l.options.told, o.logger)
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if err := l.openData(ctx); err != nil {
		return l, err
	}
	if l.sqs, err = server.Listen(c.Listen.Queue); err != nil {
		return l, fmt.Errorf("the SQS endpoint: %w", err)
	}
	if l.api, err = server.Listen(c.Listen.API); err != nil {
		return l, fmt.Errorf("the HTTP API: %w", err)
	}
	if err := l.openBeyond(c.Listen.Beyond); err != nil {
		return l, err
	}
	return l, l.openServers()
}

// openBeyond opens what the configuration states for other machines. Workers on this machine go on using loopback.
func (l *local) openBeyond(b config.Beyond) error {
	for _, at := range []struct {
		address string
		api     bool
	}{{b.Queue, false}, {b.API, true}} {
		if at.address == "" {
			continue
		}
		listener, err := server.ListenTLS(at.address, b.Cert, b.Key)
		if err != nil {
			return err
		}
		l.beyond = append(l.beyond, beyond{listener, at.api})
	}
	return nil
}

func (l *local) openData(ctx context.Context) (err error) {
	data := l.config.Data
	if err := durable.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	strict := l.config.Strict || l.options.strict
	where := queue.Options{Dir: data, Strict: strict, Logger: l.options.logger}
	if l.options.ephemeral {
		where = queue.Options{Ephemeral: true, Strict: strict, Logger: l.options.logger}
	}
	if l.queues, err = queue.Open(where); err != nil {
		return err
	}
	if l.keys, err = sqsapi.LoadOrCreateKeys(filepath.Join(data, keysFile)); err != nil {
		return err
	}
	if l.token, err = server.LoadOrCreateToken(filepath.Join(data, tokenFile)); err != nil {
		return err
	}
	if l.options.ephemeral {
		l.history = history.NewMemory()
	} else if l.history, err = l.openHistory(filepath.Join(data, historyFile)); err != nil {
		return err
	}
	if l.options.look {
		return nil
	}
	return l.createQueues(ctx, l.config)
}

// openHistory opens the history, or a new one in the place of a damaged one: work goes on without its past. A failed open does
// not become a store that is not nil.
func (l *local) openHistory(path string) (store, error) {
	if l.options.look {
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
		l.options.logger.Error("the history is damaged", "error", found)
		l.options.told(found.Error())
		l.faults.set(historyFault, found.Error())
	}
	return h, nil
}

// createQueues makes the queues that c names and sets their attributes.
func (l *local) createQueues(ctx context.Context, c *config.Config) error {
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
		err := l.queues.CreateQueue(ctx, name, kind, nil)
		if err == nil && len(attributes) > 0 {
			err = l.queues.SetAttributes(ctx, name, attributes)
		}
		if err != nil {
			return fmt.Errorf("make the queue %s: %w", name, err)
		}
		return nil
	}
	for _, q := range c.Queues {
		attributes := map[string]string{
			"VisibilityTimeout": wholeSeconds(q.Visibility), "DelaySeconds": wholeSeconds(q.Delay), "MessageRetentionPeriod": wholeSeconds(q.Retention),
		}
		if dead := q.DeadLetter; dead.Queue != "" {
			if err := create(dead.Queue, nil); err != nil {
				return err
			}
			attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:%s","maxReceiveCount":%d}`, dead.Queue, dead.After)
		}
		delete(made, q.Name) // it may have been made as somebody's dead-letter queue
		if err := create(q.Name, attributes); err != nil {
			return err
		}
	}
	for _, f := range c.Fleets {
		served := f.Queues
		for _, kind := range kinds(f) {
			served = append(slices.Clip(served), kind.Workers.DeadLetter)
		}
		for _, q := range served {
			if q.URL != "" || q.Name == "" {
				continue
			}
			if err := create(q.Name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func wholeSeconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// queueURL is where workers find the named embedded queue.
func (l *local) queueURL(name string) string {
	return "http://" + l.sqs.Addr().String() + "/000000000000/" + name
}

func (l *local) apiURL() string { return "http://" + l.api.Addr().String() }

func (l *local) openServers() error {
	l.serving, l.stopServing = context.WithCancel(context.Background())
	registry := prometheus.NewRegistry()
	metrics, err := server.NewMetrics(registry, l.fleets.served, l.fleets.standing)
	if err != nil {
		return fmt.Errorf("register the metrics: %w", err)
	}
	if _, err := server.NewQueueMetrics(registry, l.queues); err != nil {
		return err
	}
	before := l.options.notify
	l.options.notify = func(o controller.Outcome) {
		metrics.Count(o)
		if before != nil {
			before(o)
		}
	}
	l.conns = accept.NewPool(accept.Limit(accept.OpenFiles()), l.options.logger)
	l.servers.api = server.NewServer(server.New(server.Options{
		Accepting: l.conns.Failing, Token: l.token, Fleets: l.fleets.served, Standing: l.fleets.standing, Faults: l.faults.list, Decisions: l.history, Queues: l.queues, LastFailures: lastFailures(l.config.Data), Registry: registry, Version: thisProgram().Version,
		Hosts: l.config.Listen.Beyond.Hosts,
	}))
	endpoint := sqsapi.New(sqsapi.Options{
		Queues: l.queues, Keys: l.keys, AnyCredentials: l.options.anyCredentials, Logger: l.options.logger,
		Hosts: l.config.Listen.Beyond.Hosts, Serving: l.serving,
	})
	l.servers.sqs, l.servers.front = sqsapi.NewServer(endpoint), sqsapi.NewFront(endpoint, l.options.logger)
	for _, s := range []*http.Server{l.servers.api, l.servers.sqs} {
		s.ErrorLog = slog.NewLogLogger(l.options.logger.Handler(), slog.LevelDebug)
	}
	return nil
}

// run serves until ctx ends, then lets the workers finish what they hold and ends them.
func (l *local) run(ctx context.Context) error {
	// The servers outlive the loops, and the loops' end precedes the workers': a loop would replace them.
	defer l.stopServing()
	working, stopWorking := context.WithCancelCause(ctx)
	defer stopWorking(nil)
	var servers, loops errgroup.Group
	serving := map[net.Listener]server.Server{l.sqs: l.servers.front, l.api: l.servers.api}
	for _, b := range l.beyond {
		serving[b.Listener] = l.servers.sqs
		if b.api {
			serving[b.Listener] = l.servers.api
		}
	}
	for listener, s := range serving {
		name, extra := "the SQS endpoint", 0
		if s == l.servers.api {
			name, extra = "the HTTP API", spareConnections // so that its health can be asked for when the endpoint is full
		}
		servers.Go(func() error {
			err := server.Serve(l.serving, l.conns.Listen(name, listener, extra), s)
			stopWorking(err)
			return err
		})
	}
	loops.Go(func() error { l.fleets.run(working, l.watched(l.config.Fleets)); return nil })
	loops.Go(func() error { return l.prune(working) })
	loops.Go(func() error { return collectZombies(working) })
	if l.options.watch != "" {
		loops.Go(func() error { return l.watch(working, l.options.watch) })
	}
	<-working.Done()
	loops.Wait()
	l.stopServing()
	err := servers.Wait()
	if cause := context.Cause(working); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) && ctx.Err() == nil {
		err = errors.Join(cause, err)
	}
	return err
}

// collectZombies collects processes that were left to this one and ended by themselves.
func collectZombies(ctx context.Context) error {
	var z descendants.Zombies
	for sleep(ctx, 10*time.Second) == nil {
		z.Collect()
	}
	return nil
}

// prune keeps the history small.
func (l *local) prune(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Minute)
	defer tick.Stop()
	for {
		for more := true; more && ctx.Err() == nil; {
			p, err := l.history.Prune(ctx, time.Now().UTC(), historyKeep)
			if err != nil && ctx.Err() == nil {
				l.options.logger.Warn("old records could not be removed from the history", "error", err)
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

// close releases what openLocal opened.
func (l *local) close() error {
	var failures []error
	if l.stopServing != nil {
		l.stopServing()
	}
	for _, b := range l.beyond {
		b.Close()
	}
	for _, c := range []io.Closer{l.sqs, l.api, l.history} {
		if c != nil {
			failures = append(failures, c.Close())
		}
	}
	failures = append(failures, l.trees.close())
	if l.queues != nil {
		failures = append(failures, l.queues.Close())
	}
	return errors.Join(failures...)
}
