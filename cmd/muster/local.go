package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/fleet/process"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/source/embedded"
	"github.com/muster-scale/muster/source/sqs"
	"github.com/muster-scale/muster/sqsapi"
)

// The files of a data directory.
const (
	keysFile    = "sqs-keys.json"
	tokenFile   = "api-token"
	historyFile = "history.db"
	membersDir  = "members"
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
	sqs     net.Listener
	api     net.Listener
	names   []string
	fleets  map[string]*process.Fleet
	loops   map[string]*controller.Loop
	servers struct{ sqs, api *http.Server }
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
	// anyCredentials accepts any signature at the SQS endpoint.
	anyCredentials bool
	logger         *slog.Logger
	// notify is called after every step of any fleet.
	notify func(controller.Outcome)
	// env is added to every worker's environment.
	env []string
	// shape changes a fleet's settings before they are used.
	shape func(*controller.Settings)
}

// openLocal opens the data and the ports. What it opened is closed again when it fails.
func openLocal(ctx context.Context, c *config.Config, o localOptions) (l *local, err error) {
	l = &local{config: c, options: o, fleets: map[string]*process.Fleet{}, loops: map[string]*controller.Loop{}}
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
	for _, f := range c.Fleets {
		if err := l.openFleet(ctx, f); err != nil {
			return l, err
		}
	}
	return l, l.openServers()
}

func (l *local) openData(ctx context.Context) (err error) {
	data := l.config.Data
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	where := queue.Options{Dir: data, Logger: l.options.logger}
	if l.options.ephemeral {
		where = queue.Options{Ephemeral: true, Logger: l.options.logger}
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
	} else if l.history, err = openHistory(filepath.Join(data, historyFile)); err != nil {
		return err
	}
	return l.createQueues(ctx)
}

// openHistory keeps a failed open from becoming a store that is not nil.
func openHistory(path string) (store, error) {
	h, err := history.Open(path, history.Options{})
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (l *local) createQueues(ctx context.Context) error {
	made := map[string]bool{}
	create := func(name string, attributes map[string]string) error {
		if made[name] {
			return nil
		}
		made[name] = true
		err := l.queues.CreateQueue(ctx, name, nil, nil)
		if err == nil && len(attributes) > 0 {
			err = l.queues.SetAttributes(ctx, name, attributes)
		}
		if err != nil {
			return fmt.Errorf("make the queue %s: %w", name, err)
		}
		return nil
	}
	for _, q := range l.config.Queues {
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
	for _, f := range l.config.Fleets {
		if f.Queue != "" && f.URL == "" {
			if err := create(f.Queue, nil); err != nil {
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

func (l *local) openFleet(ctx context.Context, f config.Fleet) error {
	settings := controller.Settings{
		Fleet: f.Name, Spec: f.Policy, Objective: f.Objective, Limits: f.Limits,
		Slots: f.Workers.Slots, BootPrior: f.Workers.Boot, Poll: f.Poll,
	}
	o := controller.LoopOptions{History: l.history, Logger: l.options.logger}
	switch {
	case f.URL != "":
		source, err := sqs.New(ctx, f.URL)
		if err != nil {
			return fmt.Errorf("fleet %s: %w", f.Name, err)
		}
		settings.Queues, o.Sources = []string{f.Queue}, []muster.Source{source}
	case f.Queue != "":
		source := embedded.New(l.queues, f.Queue)
		settings.Queues, o.Sources, o.Wakes = []string{f.Queue}, []muster.Source{source}, []muster.Notifier{source}
	}
	if l.options.shape != nil {
		l.options.shape(&settings)
	}
	var err error
	if o.Settings, err = controller.NewSettings(settings); err != nil {
		return err
	}
	fleet, err := l.processes(f)
	if err != nil {
		return err
	}
	o.Fleet, o.Releaser = fleet, fleet
	o.Notify = func(out controller.Outcome) { l.notify(out) }
	l.names = append(l.names, f.Name)
	l.fleets[f.Name], l.loops[f.Name] = fleet, controller.NewLoop(o)
	return nil
}

// processes is the fleet of worker processes: this program, as muster work.
func (l *local) processes(f config.Fleet) (*process.Fleet, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("fleet %s: find this program to start workers with: %w", f.Name, err)
	}
	url := f.URL
	if url == "" {
		url = l.queueURL(f.Queue)
	}
	w := f.Workers
	argv := []string{self, "work", "--queue", url, "--log", "warn", "--slots", strconv.Itoa(w.Slots), "--idle", w.Idle.String(),
		"--visibility", w.Visibility.String(), "--grace", w.Grace.String(), "--warm-up", w.WarmUp.String()}
	if len(w.Env) > 0 {
		argv = append(argv, "--env", strings.Join(w.Env, ","))
	}
	argv = append(append(argv, "--"), w.Command...)
	return process.New(process.Options{
		Fleet: f.Name, Dir: filepath.Join(l.config.Data, membersDir, f.Name), Argv: argv, WorkDir: l.config.Dir,
		Env: func(member string) []string { return l.workerEnv(f, member) }, Logger: l.options.logger,
	})
}

func (l *local) workerEnv(f config.Fleet, member string) []string {
	env := append(os.Environ(), l.options.env...)
	env = append(env, "MUSTER_API_URL="+l.apiURL(), "MUSTER_TOKEN="+l.token.Member(f.Name, member).Reveal(),
		"MUSTER_FLEET="+f.Name, "MUSTER_MEMBER="+member)
	if f.URL == "" {
		env = append(env, "AWS_ENDPOINT_URL_SQS=http://"+l.sqs.Addr().String(), "AWS_REGION=us-east-1", "AWS_SESSION_TOKEN=", "AWS_PROFILE=",
			"AWS_ACCESS_KEY_ID="+l.keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+l.keys.SecretAccessKey)
	}
	return env
}

func (l *local) openServers() error {
	registry := prometheus.NewRegistry()
	fleets := map[string]server.Fleet{}
	for name, loop := range l.loops {
		fleets[name] = loop
	}
	metrics, err := server.NewMetrics(registry, fleets)
	if err != nil {
		return fmt.Errorf("register the metrics: %w", err)
	}
	before := l.options.notify
	l.options.notify = func(o controller.Outcome) {
		metrics.Count(o)
		if before != nil {
			before(o)
		}
	}
	l.servers.api = server.NewServer(server.New(server.Options{
		Token: l.token, Fleets: fleets, Decisions: l.history, Registry: registry, Version: version,
	}))
	l.servers.sqs = sqsapi.NewServer(sqsapi.New(sqsapi.Options{
		Queues: l.queues, Keys: l.keys, AnyCredentials: l.options.anyCredentials, Logger: l.options.logger,
	}))
	for _, s := range []*http.Server{l.servers.api, l.servers.sqs} {
		s.ErrorLog = slog.NewLogLogger(l.options.logger.Handler(), slog.LevelDebug)
	}
	return nil
}

func (l *local) notify(o controller.Outcome) { l.options.notify(o) }

// run serves until ctx ends, then lets the workers finish what they hold and ends them.
func (l *local) run(ctx context.Context) error {
	// The servers outlive the loops, and the loops' end precedes the workers': a loop would replace them.
	serve, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	var servers errgroup.Group
	loops, loopsCtx := errgroup.WithContext(ctx)
	servers.Go(func() error { return server.Serve(serve, l.sqs, l.servers.sqs) })
	servers.Go(func() error { return server.Serve(serve, l.api, l.servers.api) })
	for _, name := range l.names {
		loops.Go(func() error { return l.loops[name].Run(loopsCtx) })
	}
	loops.Go(func() error { return l.prune(loopsCtx) })
	err := loops.Wait()
	// One fleet after the other is told at once; each waits for its own workers.
	var fleets errgroup.Group
	for _, f := range l.fleets {
		fleets.Go(func() error { f.Close(context.Background()); return nil })
	}
	fleets.Wait()
	stopServing()
	return errors.Join(err, servers.Wait())
}

// prune keeps the history small.
func (l *local) prune(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if _, err := l.history.Prune(ctx, now.UTC(), historyKeep); err != nil && ctx.Err() == nil {
				l.options.logger.Warn("old records could not be removed from the history", "error", err)
			}
		}
	}
}

// close releases what openLocal opened.
func (l *local) close() error {
	var failures []error
	for _, c := range []io.Closer{l.sqs, l.api, l.history} {
		if c != nil {
			failures = append(failures, c.Close())
		}
	}
	if l.queues != nil {
		failures = append(failures, l.queues.Close())
	}
	return errors.Join(failures...)
}
