package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kinds"
)

// watchEvery is how often the configuration file is checked; settleEvery is how often while it is being written.
const (
	watchEvery  = 2 * time.Second
	settleEvery = 200 * time.Millisecond
)

// reload is a configuration for a running App, and where to send the lines that say what changed.
type reload struct {
	config *config.Config
	said   chan<- []string
}

// Reload applies c as far as a running App can, and returns what it did, in lines for a person; none when nothing
// changed. It waits until the changed fleets have been told. Workers finish the messages in progress. [App.Run] must be
// running; the error says that it ends or has ended, or that ctx has ended. c must not be changed afterwards.
func (a *App) Reload(ctx context.Context, c *config.Config) ([]string, error) {
	said := make(chan []string, 1)
	select {
	case a.reloads <- reload{c, said}:
		return <-said, nil // an accepted reload is always answered
	case <-a.followed:
		return nil, errors.New("apply a configuration: the App has stopped; open it again")
	case <-ctx.Done():
		return nil, fmt.Errorf("apply a configuration: %w", ctx.Err())
	}
}

// follow applies configurations one after the other, until ctx ends: those of [App.Reload], and the watched file, when
// it changes or when the process gets SIGHUP.
func (a *App) follow(ctx context.Context) error {
	path, hangUp := a.options.Watch, make(chan os.Signal, 1)
	if path != "" {
		signal.Notify(hangUp, syscall.SIGHUP)
		defer signal.Stop(hangUp)
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	r := reloader{app: a, path: path, now: a.config}
	before := stamp(path)
	for {
		asked := false
		select {
		case <-ctx.Done():
			return nil
		// A configuration from Reload replaces the one of the file, and with it the fault of the file.
		case given := <-a.reloads:
			a.faults.set(configFault, "")
			if err := given.config.TakesWork(a.config.Events); err != nil {
				said := fmt.Sprintf("the configuration was not taken over: %v", err)
				a.inForce.Refused(time.Now(), said)
				given.said <- []string{said}
				continue
			}
			given.said <- r.take(ctx, given.config, false)
			continue
		case <-hangUp:
			asked = true
		case now := <-tick.C:
			// Without a watched file the stamp never changes, and only a failed queue is retried.
			if stamp(path) == before {
				r.retry(ctx, now)
				continue
			}
		}
		before = settled(ctx, path)
		a.options.Told(r.reload(ctx, asked))
	}
}

// settled returns the stamp of a file that is no longer being written: half of a configuration may be valid, with fewer
// fleets. It waits for at most a second.
func settled(ctx context.Context, path string) string {
	before := stamp(path)
	for range 5 {
		if host.Sleep(ctx, settleEvery) != nil {
			break
		}
		now := stamp(path)
		if now == before {
			break
		}
		before = now
	}
	return before
}

// stamp identifies the state of a file. A missing file has a stamp too: it may be about to be replaced.
func stamp(path string) string {
	f, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(f.ModTime().UnixNano(), f.Size())
}

// reloader applies one configuration after the other.
type reloader struct {
	app  *App
	path string
	// now is the last valid configuration.
	now *config.Config
	// retryAt is when to create its queues again after a failure; zero after success.
	retryAt time.Time
}

// reload applies the file as far as a running App can, and says what changed. An invalid configuration changes nothing.
// When a person asked for the reload, failed fleets are retried at once.
func (r *reloader) reload(ctx context.Context, asked bool) string {
	c, err := kinds.Load(r.path)
	if err == nil {
		err = cmp.Or(CheckCommands(c), c.TakesWork(r.app.config.Events))
	}
	if err != nil {
		said := fmt.Sprintf("the configuration was not taken over, the one before stays in force:\n%v", err)
		r.app.faults.set(configFault, said)
		r.app.inForce.Refused(time.Now(), said)
		return said
	}
	r.app.faults.set(configFault, "")
	said := r.take(ctx, c, asked)
	if len(said) == 0 {
		return "the configuration was read again: nothing in it has changed"
	}
	return "the configuration was read again: " + strings.Join(said, "; ")
}

// take puts c in force and returns what that did.
func (r *reloader) take(ctx context.Context, c *config.Config, asked bool) []string {
	r.app.current.Store(c)
	said := r.apply(ctx, c, asked)
	r.app.inForce.Reloaded(time.Now(), values(c), strings.Join(said, "; "))
	return said
}

// apply applies c and returns what it did.
func (r *reloader) apply(ctx context.Context, c *config.Config, asked bool) (said []string) {
	a := r.app
	if later := restartNeeded(a.config, c); later != "" {
		said = append(said, later)
	}
	changed := !reflect.DeepEqual(c.Queues, r.now.Queues) || !reflect.DeepEqual(c.Fleets, r.now.Fleets)
	// This comes before the queues and the fleets: whatever fails is retried with the new configuration.
	r.now = c
	if changed || asked {
		if err := r.makeQueues(ctx, time.Now()); err != nil {
			said = append(said, err.Error())
		}
	}
	for _, n := range a.want(ctx, a.shadowed(c.Fleets), asked) {
		said = append(said, n.String())
	}
	return said
}

// atStart are the keys that take effect only at a start.
var atStart = []string{"listen", "data", "strict", "aws", "notify", "controllers", "events", "dashboard"}

// restartNeeded says which changed keys need a restart; empty for none.
func restartNeeded(began, c *config.Config) string {
	same := []bool{reflect.DeepEqual(c.Listen, began.Listen), c.Data == began.Data, c.Strict == began.Strict,
		c.AWS == began.AWS, reflect.DeepEqual(c.Notify, began.Notify), c.Controllers == began.Controllers,
		reflect.DeepEqual(c.Events, began.Events), c.Dashboard == began.Dashboard}
	var keys []string
	for i, name := range atStart {
		if !same[i] {
			keys = append(keys, name)
		}
	}
	switch len(keys) {
	case 0:
		return ""
	case 1:
		return keys[0] + " takes effect at the next start"
	}
	return strings.Join(keys, ", ") + " take effect at the next start"
}

// makeQueues creates the queues of the configuration, and schedules a retry if that fails.
func (r *reloader) makeQueues(ctx context.Context, now time.Time) error {
	r.retryAt = time.Time{}
	err := r.app.createQueues(ctx, r.now)
	if err == nil {
		r.app.faults.set(queueFault, "")
		return nil
	}
	r.retryAt = now.Add(lifecycle.LongestDelay)
	r.app.faults.set(queueFault, err.Error())
	return fmt.Errorf("%w; retrying every %s", err, render.Seconds(lifecycle.LongestDelay.Seconds()))
}

// retry creates the queues again after a failure, when it is due.
func (r *reloader) retry(ctx context.Context, now time.Time) {
	if r.retryAt.IsZero() || now.Before(r.retryAt) {
		return
	}
	if err := r.makeQueues(ctx, now); err != nil {
		r.app.options.Logger.Error("creating the queues of the configuration failed", "error", err)
		return
	}
	r.app.options.Told("the queues of the configuration were created")
}

// shadowed applies the options to every fleet.
func (a *App) shadowed(fleets []config.Fleet) []config.Fleet {
	all := make([]config.Fleet, len(fleets))
	for i, f := range fleets {
		all[i] = a.options.shadowed(f)
	}
	return all
}

// The kinds of faults that concern no single fleet.
const (
	configFault = iota
	queueFault
	historyFault
	eventFault
	storeFault
	faultKinds
)

// faults are the problems that concern no single fleet, for status. Any goroutine may set and read them.
type faults struct {
	mu  sync.Mutex
	all [faultKinds]string
}

// set records the fault of a kind; an empty text removes it.
func (f *faults) set(kind int, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[kind] = text
}

// kinds returns the present faults with their kinds of incidents.
func (f *faults) kinds() (all []incident.Fault) {
	of := [faultKinds]incident.Kind{configFault: incident.ConfigurationInvalid, queueFault: incident.QueueDamaged,
		historyFault: incident.HistoryDamaged, eventFault: incident.EventsUnreachable,
		storeFault: incident.HistoryStuck}
	f.mu.Lock()
	defer f.mu.Unlock()
	for kind, text := range f.all {
		if text != "" {
			all = append(all, incident.Fault{Kind: of[kind], Text: text})
		}
	}
	return all
}

// of returns the fault of a kind; empty for none.
func (f *faults) of(kind int) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[kind]
}

// list returns the present faults, in the order of their kinds.
func (f *faults) list() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range f.all {
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}
