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
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-scale/muster/app/turns"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/history/curves"
	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/server/board"
	"github.com/muster-scale/muster/server/page"
	"github.com/muster-scale/muster/server/session"
	"github.com/muster-scale/muster/sqsapi"
)

// App is a Muster made from a configuration: the embedded queue and its SQS endpoint, a control loop for each fleet,
// the local worker processes, and the HTTP API. Several goroutines may use it, but Run is called once.
type App struct {
	config  *config.Config
	options Options
	// queues, keys, token and history are what the data directory holds; openData sets them.
	queues  *queue.Service
	keys    sqsapi.Keys
	token   server.Token
	history store
	// turns is nil for a controller alone.
	turns *turns.Turns
	trees *treeReader
	// sqs and api are the listeners on loopback.
	sqs net.Listener
	api net.Listener
	// remote are the listeners that other machines reach.
	remote []remoteListener
	conns  *accept.Pool // the connections of all listeners
	fleets *fleets
	// faults are the problems that status shows and that concern no single fleet.
	faults    faults
	incidents *incidents
	metrics   *server.Metrics
	// host is what this App offers to the kinds of fleets.
	host *kind.Host
	// reloads carries configurations from [App.Reload] to the goroutine that applies them.
	reloads chan reload
	// followed is closed when no further reload is accepted.
	followed chan struct{}
	// live is the data of the dashboard, page its files, and sessions let browsers in. curves keeps its curves.
	live     *board.Live
	page     *page.Page
	sessions *session.Sessions
	curves   *curves.Store
	// current is the configuration in force, and inForce its values and reloads for the dashboard.
	current atomic.Pointer[config.Config]
	inForce board.InForce
	servers struct {
		sqs, api *http.Server
		front    *sqsapi.TCPServer // the SQS endpoint on loopback; sqs serves the other addresses
	}
	// serving ends when the servers must stop.
	serving     context.Context
	stopServing context.CancelFunc
}

// spareConnections is how many connections the API may use beyond the shared limit, so that its health check answers
// when the SQS endpoint has used up that limit.
const spareConnections = 16

// Options say how to run a configuration. The zero value runs the configuration as it is, without a log.
type Options struct {
	// Ephemeral keeps queue and history in memory.
	Ephemeral bool
	// Look reads existing data and changes nothing: no queue is created or altered.
	Look bool
	// AnyCredentials accepts any signature at the SQS endpoint.
	AnyCredentials bool
	// Shadow puts every fleet in shadow mode: Muster decides and sets nothing.
	Shadow bool
	// Strict makes a queue refuse for 60 s whatever AWS would refuse then, also when the configuration does not ask
	// for it.
	Strict bool
	// Logger gets the log; nil discards it.
	Logger *slog.Logger
	// Notify is called after every step of any fleet, from several goroutines; nil is allowed.
	Notify func(controller.Outcome)
	// Env is added to every worker's environment.
	Env []string
	// Watch is the path of the configuration file to reload when it changes; empty reloads none.
	Watch string
	// Told is called with a line for a person: the result of a reload, or damage that was found.
	Told func(string)
	// Program is the muster program that runs local workers (muster work); empty is the running program.
	Program string
	// Cores is how many cores the local workers share; 0 is GOMAXPROCS.
	Cores int
	// Version is the version that the API reports.
	Version string
	// Routes returns further routes of the API for an App; nil adds none.
	Routes func(*App) []server.Route
}

// shadowed returns the fleet in shadow mode when the options ask for it. Such a fleet hands nothing to the target
// tracking of AWS, which would act on it; its policy decides instead.
func (o Options) shadowed(f config.Fleet) config.Fleet {
	if o.Shadow {
		f.Policy.Shadow, f.Sizer, f.Policy.Delegate = true, nil, nil
	}
	return f
}

// Open opens the data and the ports of c, which must not be changed afterwards. When it fails, it closes what it had
// opened.
func Open(ctx context.Context, c *config.Config, o Options) (*App, error) {
	a := &App{
		config: c, options: o.defaults(), trees: newTreeReader(TreesPlace(c.Data)),
		reloads: make(chan reload), followed: make(chan struct{}),
	}
	a.fleets = newFleets(a.openFleet, a.options.Told, a.options.Logger)
	if err := a.open(ctx); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// open does the work of [Open]. When it fails, a holds what must be closed.
func (a *App) open(ctx context.Context) (err error) {
	if err := a.openData(ctx); err != nil {
		return err
	}
	a.host = kind.NewHost(kind.HostOptions{
		AWS: a.config.AWS, Local: local{a}, Logger: a.options.Logger,
	})
	kinds.Serve(a.host, a.queues)
	if a.sqs, err = server.Listen(a.config.Listen.Queue); err != nil {
		return fmt.Errorf("the SQS endpoint: %w", err)
	}
	if a.api, err = server.Listen(a.config.Listen.API); err != nil {
		return fmt.Errorf("the HTTP API: %w", err)
	}
	if err := a.openRemote(a.config.Listen.Beyond); err != nil {
		return err
	}
	for _, c := range a.config.Fleets { // before they begin, the API knows their names
		if a.turns == nil {
			a.fleets.phases = append(a.fleets.phases, lifecycle.Fleet[config.Fleet]{Name: c.Name,
				Phase: lifecycle.Waiting, Since: time.Now()})
		}
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
	if o.Routes == nil {
		o.Routes = func(*App) []server.Route { return nil }
	}
	if o.Told == nil {
		o.Told = func(string) {}
	}
	return o
}

// Run serves until ctx ends. Then the workers finish the messages in progress and stop.
func (a *App) Run(ctx context.Context) error {
	// The loops stop before the workers, which they would replace. The servers stop last: workers still use them.
	defer a.stopServing()
	// working ends with ctx or with the first server that fails. Its cause tells which of both it was.
	working, stopWorking := context.WithCancelCause(ctx)
	defer stopWorking(nil)
	var servers, loops errgroup.Group
	serving := map[net.Listener]server.Server{a.sqs: a.servers.front, a.api: a.servers.api}
	for _, b := range a.remote {
		serving[b.Listener] = a.servers.sqs
		if b.api {
			serving[b.Listener] = a.servers.api
		}
	}
	for listener, s := range serving {
		name, extra := "the SQS endpoint", 0
		if s == a.servers.api {
			name, extra = "the HTTP API", spareConnections
		}
		servers.Go(func() error {
			err := server.Serve(a.serving, a.conns.Listen(name, listener, extra), s)
			stopWorking(err)
			return err
		})
	}
	loops.Go(func() error { a.runFleets(working); return nil })
	loops.Go(func() error { return a.prune(working) })
	loops.Go(func() error { return collectZombies(working) })
	loops.Go(func() error { a.incidents.run(working); return nil })
	loops.Go(func() error { a.receiveEvents(working); return nil })
	loops.Go(func() error { a.live.Run(working); return nil })
	loops.Go(func() error { a.keepCurves(working); return nil })
	loops.Go(func() error {
		defer close(a.followed)
		return a.follow(working)
	})
	// From here on everything stops: loops, then workers, then servers.
	<-working.Done()
	loops.Wait()
	a.stopServing()
	err := servers.Wait()
	// An interrupt is no error. A server that failed before it is the cause, and more useful than what followed.
	if cause := context.Cause(working); !errors.Is(cause, context.Canceled) &&
		!errors.Is(cause, context.DeadlineExceeded) && ctx.Err() == nil {
		err = errors.Join(cause, err)
	}
	return err
}

// collectZombies reaps orphaned processes that this process inherited. Without it, programs that outlive a killed
// worker would stay in the process table until Muster ends.
func collectZombies(ctx context.Context) error {
	var z descendants.Zombies
	for host.Sleep(ctx, 10*time.Second) == nil {
		z.Collect()
	}
	return nil
}

// Close releases what [Open] opened. Call it after Run has returned, or without Run. It joins all failures.
func (a *App) Close() error {
	var failures []error
	if a.stopServing != nil {
		a.stopServing()
	}
	for _, b := range a.remote {
		b.Close()
	}
	// The queues come last: everything above may still use them.
	for _, c := range []io.Closer{a.sqs, a.api, a.history} {
		if c == nil {
			continue
		}
		if err := c.Close(); !errors.Is(err, net.ErrClosed) { // a server has closed its listener already
			failures = append(failures, err)
		}
	}
	failures = append(failures, a.trees.close())
	if a.curves != nil {
		failures = append(failures, a.curves.Close(context.Background(), time.Now().UTC()))
	}
	if a.queues != nil {
		failures = append(failures, a.queues.Close())
	}
	return errors.Join(failures...)
}

// QueueURL is the URL of an embedded queue, on loopback.
func (a *App) QueueURL(name string) string {
	return a.Endpoint() + "/000000000000/" + name
}

// APIURL is the URL of the HTTP API, on loopback.
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
	for _, b := range a.remote {
		all = append(all, b.Addr())
	}
	return all
}

// Fleets are the fleets as the API serves them, by name, including fleets that do not run.
func (a *App) Fleets() map[string]server.Fleet { return a.served() }

// Ready tells whether every fleet has been read at least once.
func (a *App) Ready() bool {
	for _, fleet := range a.fleets.served() {
		if o, ok := fleet.Last(); !ok || !o.Ready {
			return false
		}
	}
	return true
}

// Preview decides the desired count of a fleet from one reading and changes nothing. The App must not run.
func (a *App) Preview(ctx context.Context, c config.Fleet) (loop.Preview, error) {
	own, err := a.newFleet(ctx, a.options.shadowed(c), nil)
	if err != nil {
		return loop.Preview{}, fmt.Errorf("fleet %s: %w", c.Name, err)
	}
	return own.loop.Preview(ctx)
}

// CheckCommands looks up the programs of the configuration's fleets. Its error may be [config.Faults].
func CheckCommands(c *config.Config) error {
	if len(c.Fleets) == 0 {
		return nil
	}
	return config.CheckCommands(c, exec.LookPath)
}
