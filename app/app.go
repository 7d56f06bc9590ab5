package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/sqsapi"
)

// App is a Muster made from a configuration: the embedded queue and its endpoint, a loop for each fleet, the worker
// processes of those on this machine, and the HTTP API. It is safe for use by several goroutines, but Run is called
// once.
type App struct {
	config  *config.Config
	options Options
	queues  *queue.Service
	keys    sqsapi.Keys
	token   server.Token
	history store
	trees   *foresight
	sqs     net.Listener
	api     net.Listener
	// beyond are the listeners for other machines, with what they serve.
	beyond []beyond
	conns  *accept.Pool // the connections of all listeners
	fleets *fleets
	faults faults
	// host is what the kinds of fleets get of this App.
	host *kind.Host
	// reloads are the configurations that [App.Reload] hands to the goroutine that puts them in force.
	reloads chan reload
	// followed is closed when no reload is taken any more.
	followed chan struct{}
	servers  struct {
		sqs, api *http.Server
		front    *sqsapi.Front // serves what sqs does, on loopback
	}
	// serving ends when the servers are about to stop.
	serving     context.Context
	stopServing context.CancelFunc
}

// spareConnections is how many more connections than the others the API may have.
const spareConnections = 16

// Options say how a configuration is run.
type Options struct {
	// Ephemeral keeps queue and history in memory.
	Ephemeral bool
	// Look changes nothing that is there: queues are taken as they are.
	Look bool
	// AnyCredentials accepts any signature at the SQS endpoint.
	AnyCredentials bool
	// Shadow makes every fleet one that is only watched, also where the configuration does not say so.
	Shadow bool
	// Strict lets the queues refuse for 60 s what AWS refuses, also when the configuration does not say so.
	Strict bool
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
	// Notify is called after every step of any fleet, from several goroutines; nil for nobody.
	Notify func(controller.Outcome)
	// Env is added to every worker's environment.
	Env []string
	// Watch is the path of the configuration that is read again when it changes; empty for none.
	Watch string
	// Told says, in a line for a person, what came of reading it again, and what is damaged.
	Told func(string)
	// Program is the muster program that local workers are started with, as muster work; empty is this program itself.
	Program string
	// Cores is how many cores the local workers share; 0 is as many as Go runs goroutines on at a time.
	Cores int
	// Version is what the API says that this program is.
	Version string
}

// watched returns the fleet as the options have it. In shadow nothing is handed to AWS's target tracking, which goes by
// what it was given last: the policy decides beside it.
func (o Options) watched(f config.Fleet) config.Fleet {
	if o.Shadow {
		f.Policy.Shadow, f.Sizer, f.Policy.Delegate = true, nil, nil
	}
	return f
}

// Open opens the data and the ports of c, which must not be changed afterwards. What it opened is closed again when it
// fails.
func Open(ctx context.Context, c *config.Config, o Options) (*App, error) {
	a := &App{
		config: c, options: o.defaults(), trees: newForesight(TreesPlace(c.Data)),
		reloads: make(chan reload), followed: make(chan struct{}),
	}
	a.fleets = newFleets(a.openFleet, a.options.Told, a.options.Logger)
	if err := a.open(ctx); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// open opens what [Open] promises. What it has opened when it fails is in a.
func (a *App) open(ctx context.Context) (err error) {
	if err := a.openData(ctx); err != nil {
		return err
	}
	a.host = kind.NewHost(kind.HostOptions{
		AWS: a.config.AWS, Queues: a.queues, Local: local{a}, Logger: a.options.Logger,
	})
	if a.sqs, err = server.Listen(a.config.Listen.Queue); err != nil {
		return fmt.Errorf("the SQS endpoint: %w", err)
	}
	if a.api, err = server.Listen(a.config.Listen.API); err != nil {
		return fmt.Errorf("the HTTP API: %w", err)
	}
	if err := a.openBeyond(a.config.Listen.Beyond); err != nil {
		return err
	}
	return a.openServers()
}

// defaults fills in what is optional.
func (o Options) defaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Notify == nil {
		o.Notify = func(controller.Outcome) {}
	}
	if o.Told == nil {
		o.Told = func(string) {}
	}
	return o
}

// Run serves until ctx ends, then lets the workers finish what they hold and ends them.
func (a *App) Run(ctx context.Context) error {
	// The servers outlive the loops, and the loops' end precedes the workers': a loop would replace them.
	defer a.stopServing()
	working, stopWorking := context.WithCancelCause(ctx)
	defer stopWorking(nil)
	var servers, loops errgroup.Group
	serving := map[net.Listener]server.Server{a.sqs: a.servers.front, a.api: a.servers.api}
	for _, b := range a.beyond {
		serving[b.Listener] = a.servers.sqs
		if b.api {
			serving[b.Listener] = a.servers.api
		}
	}
	for listener, s := range serving {
		name, extra := "the SQS endpoint", 0
		if s == a.servers.api {
			name, extra = "the HTTP API",
				spareConnections // so that its health can be asked for when the endpoint is full
		}
		servers.Go(func() error {
			err := server.Serve(a.serving, a.conns.Listen(name, listener, extra), s)
			stopWorking(err)
			return err
		})
	}
	loops.Go(func() error { a.fleets.run(working, a.watched(a.config.Fleets)); return nil })
	loops.Go(func() error { return a.prune(working) })
	loops.Go(func() error { return collectZombies(working) })
	loops.Go(func() error {
		defer close(a.followed)
		return a.follow(working)
	})
	<-working.Done()
	loops.Wait()
	a.stopServing()
	err := servers.Wait()
	if cause := context.Cause(working); !errors.Is(cause, context.Canceled) &&
		!errors.Is(cause, context.DeadlineExceeded) && ctx.Err() == nil {
		err = errors.Join(cause, err)
	}
	return err
}

// collectZombies collects processes that were left to this one and ended by themselves.
func collectZombies(ctx context.Context) error {
	var z descendants.Zombies
	for host.Sleep(ctx, 10*time.Second) == nil {
		z.Collect()
	}
	return nil
}

// Close releases what [Open] opened. Run has returned, or was never called.
func (a *App) Close() error {
	var failures []error
	if a.stopServing != nil {
		a.stopServing()
	}
	for _, b := range a.beyond {
		b.Close()
	}
	for _, c := range []io.Closer{a.sqs, a.api, a.history} {
		if c == nil {
			continue
		}
		if err := c.Close(); !errors.Is(err, net.ErrClosed) { // those that were served are closed
			failures = append(failures, err)
		}
	}
	failures = append(failures, a.trees.close())
	if a.queues != nil {
		failures = append(failures, a.queues.Close())
	}
	return errors.Join(failures...)
}

// QueueURL is where workers find the named embedded queue.
func (a *App) QueueURL(name string) string {
	return a.Endpoint() + "/000000000000/" + name
}

// APIURL is where the HTTP API answers, on loopback.
func (a *App) APIURL() string { return "http://" + a.api.Addr().String() }

// Config is the configuration that the App was opened with.
func (a *App) Config() *config.Config { return a.config }

// Queues is the embedded queue.
func (a *App) Queues() *queue.Service { return a.queues }

// Endpoint is the URL of the SQS endpoint, on loopback.
func (a *App) Endpoint() string { return "http://" + a.sqs.Addr().String() }

// Keys are those of the SQS endpoint.
func (a *App) Keys() sqsapi.Keys { return a.keys }

// Beyond are the addresses that are open to other machines.
func (a *App) Beyond() []net.Addr {
	var all []net.Addr
	for _, b := range a.beyond {
		all = append(all, b.Addr())
	}
	return all
}

// Fleets are the fleets as the API serves them, by name; those that do not run are among them.
func (a *App) Fleets() map[string]server.Fleet { return a.fleets.served() }

// Ready tells whether every fleet was seen once.
func (a *App) Ready() bool {
	for _, fleet := range a.fleets.served() {
		if o, ok := fleet.Last(); !ok || !o.Ready {
			return false
		}
	}
	return true
}

// Preview decides what the fleet would be sized to, from one look, and changes nothing. The App does not run.
func (a *App) Preview(ctx context.Context, c config.Fleet) (loop.Preview, error) {
	own, err := a.newFleet(ctx, a.options.watched(c), nil)
	if err != nil {
		return loop.Preview{}, fmt.Errorf("fleet %s: %w", c.Name, err)
	}
	return own.loop.Preview(ctx)
}

// CheckCommands looks for the programs of the configuration's fleets. Its error may be [config.Faults].
func CheckCommands(c *config.Config) error {
	if len(c.Fleets) == 0 {
		return nil
	}
	return config.CheckCommands(c, exec.LookPath)
}
