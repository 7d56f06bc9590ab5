package app

import (
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
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kinds"
)

// watchEvery is how often the configuration's file is looked at, settleEvery how often while it is being written.
const (
	watchEvery  = 2 * time.Second
	settleEvery = 200 * time.Millisecond
)

// reload is a configuration that somebody hands to a running App, and where what comes of it goes.
type reload struct {
	config *config.Config
	said   chan<- []string
}

// Reload puts c in force as far as a running App can take it over, and returns what it did, in lines for a person; none
// where nothing changed. It waits until fleets that change have been told; workers that hold a message finish it.
// [App.Run] runs; the error is that it ends or has ended, or that ctx has. c must not be changed afterwards.
func (a *App) Reload(ctx context.Context, c *config.Config) ([]string, error) {
	said := make(chan []string, 1)
	select {
	case a.reloads <- reload{c, said}:
		return <-said, nil // one that was taken is always answered
	case <-a.followed:
		return nil, errors.New("put a configuration in force: found a set-up that has stopped; open it anew")
	case <-ctx.Done():
		return nil, fmt.Errorf("put a configuration in force: %w", ctx.Err())
	}
}

// follow puts configurations in force, one after the other, until ctx ends: those of [App.Reload], and that of the file
// which is watched, when it changes or when the process gets a hang-up signal.
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
		case given := <-a.reloads:
			a.faults.set(configFault, "")
			given.said <- r.apply(ctx, given.config, false)
			continue
		case <-hangUp:
			asked = true
		case now := <-tick.C:
			if stamp(path) == before {
				r.retry(ctx, now)
				continue
			}
		}
		before = settled(ctx, path)
		a.options.Told(r.reload(ctx, asked))
	}
}

// settled returns the stamp of a file once it no longer changes: half of a configuration may be a valid one, with fewer
// fleets. A file that is always being written is read after a second.
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

// stamp changes when a file does. A file that is not there has a stamp too: it may be about to be replaced.
func stamp(path string) string {
	f, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(f.ModTime().UnixNano(), f.Size())
}

// reloader puts one configuration after the other in force.
type reloader struct {
	app  *App
	path string
	// now is the last configuration without faults.
	now *config.Config
	// retryAt is when its queues are made again, after that failed; zero when they were made.
	retryAt time.Time
}

// reload puts the configuration in force as far as a running set-up can take it, and says what came of it. A
// configuration with a fault changes nothing. When a person asked for it, fleets that failed are tried again at once.
func (r *reloader) reload(ctx context.Context, asked bool) string {
	c, err := kinds.Load(r.path)
	if err == nil {
		err = CheckCommands(c)
	}
	if err != nil {
		said := fmt.Sprintf("the configuration was not taken over, the one before stays in force:\n%v", err)
		r.app.faults.set(configFault, said)
		return said
	}
	r.app.faults.set(configFault, "")
	said := r.apply(ctx, c, asked)
	if len(said) == 0 {
		return "the configuration was read again: nothing in it has changed"
	}
	return "the configuration was read again: " + strings.Join(said, "; ")
}

// apply brings the running set-up to c, and returns what it did.
func (r *reloader) apply(ctx context.Context, c *config.Config, asked bool) (said []string) {
	a := r.app
	if later := fixed(a.config, c); later != "" {
		said = append(said, later)
	}
	changed := !reflect.DeepEqual(c.Queues, r.now.Queues) || !reflect.DeepEqual(c.Fleets, r.now.Fleets)
	r.now = c
	if changed || asked {
		if err := r.makeQueues(ctx, time.Now()); err != nil {
			said = append(said, err.Error())
		}
	}
	for _, n := range a.fleets.want(ctx, a.watched(c.Fleets), asked) {
		said = append(said, n.String())
	}
	return said
}

// fixed says which changes a running set-up cannot take over; empty for none.
func fixed(began, c *config.Config) string {
	var keys []string
	for _, k := range []struct {
		name string
		same bool
	}{
		{"listen", reflect.DeepEqual(c.Listen, began.Listen)}, {"data", c.Data == began.Data},
		{"strict", c.Strict == began.Strict}, {"aws", c.AWS == began.AWS},
	} {
		if !k.same {
			keys = append(keys, k.name)
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

// makeQueues makes the queues of the configuration, and notes when that is to be tried again.
func (r *reloader) makeQueues(ctx context.Context, now time.Time) error {
	r.retryAt = time.Time{}
	err := r.app.createQueues(ctx, r.now)
	if err == nil {
		r.app.faults.set(queueFault, "")
		return nil
	}
	r.retryAt = now.Add(lifecycle.LongestDelay)
	r.app.faults.set(queueFault, err.Error())
	return fmt.Errorf("%w; it is tried again every %s", err, render.Seconds(lifecycle.LongestDelay.Seconds()))
}

// retry makes the queues that could not be made, when it is time.
func (r *reloader) retry(ctx context.Context, now time.Time) {
	if r.retryAt.IsZero() || now.Before(r.retryAt) {
		return
	}
	if err := r.makeQueues(ctx, now); err != nil {
		r.app.options.Logger.Error("the queues of the configuration could not be made", "error", err)
		return
	}
	r.app.options.Told("the queues of the configuration were made")
}

// watched returns the fleets as the options have them.
func (a *App) watched(fleets []config.Fleet) []config.Fleet {
	all := make([]config.Fleet, len(fleets))
	for i, f := range fleets {
		all[i] = a.options.watched(f)
	}
	return all
}

// The faults of a set-up as a whole.
const (
	configFault = iota
	queueFault
	historyFault
	faultKinds
)

// faults are what is wrong with the set-up as a whole, for status. They are set and read by any goroutine.
type faults struct {
	mu  sync.Mutex
	all [faultKinds]string
}

func (f *faults) set(kind int, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[kind] = text
}

// list returns the faults that there are.
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
