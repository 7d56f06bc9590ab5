package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/muster-scale/muster/config"
)

// watchEvery is how often the configuration's file is looked at.
const watchEvery = 2 * time.Second

// watch reads the configuration again when its file changes or when the process gets a hang-up signal, until ctx ends.
func (l *local) watch(ctx context.Context, path string) error {
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	before := stamp(path)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hangUp:
		case <-tick.C:
			if stamp(path) == before {
				continue
			}
		}
		before = stamp(path)
		l.options.told(l.reload(ctx, path))
	}
}

// stamp changes when a file does. A file that is not there has a stamp too: it may be about to be replaced.
func stamp(path string) string {
	f, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(f.ModTime().UnixNano(), f.Size())
}

// reload puts the configuration at path in force as far as a running set-up can take it, and says what came of it. A
// configuration with a fault changes nothing.
func (l *local) reload(ctx context.Context, path string) string {
	c, err := config.Load(path)
	if err == nil {
		err = checkCommands(c)
	}
	if err != nil {
		return fmt.Sprintf("the configuration was not taken over, the one before stays in force:\n%v", err)
	}
	said, err := l.apply(ctx, c)
	if err != nil {
		said = append(said, err.Error())
	}
	if len(said) == 0 {
		return "the configuration was read again: nothing in it has changed"
	}
	return "the configuration was read again: " + strings.Join(said, "; ")
}

// whenLater says that a change waits for the workers of before.
func whenLater(old, now config.Fleet) string {
	if sameKind(old, now) {
		return ""
	}
	return " and begins anew once its workers have finished what they hold"
}

// apply brings the running set-up to c, and returns what it did.
func (l *local) apply(ctx context.Context, c *config.Config) (said []string, err error) {
	if !reflect.DeepEqual(c.Listen, l.config.Listen) || c.Data != l.config.Data || c.Strict != l.config.Strict {
		said = append(said, "listen, data and strict take effect at the next start")
	}
	var failures []error
	if !reflect.DeepEqual(c.Queues, l.config.Queues) || !reflect.DeepEqual(c.Fleets, l.config.Fleets) {
		failures = append(failures, l.createQueues(ctx, c))
	}
	now := map[string]config.Fleet{}
	for _, f := range l.config.Fleets {
		now[f.Name] = f
	}
	for _, f := range c.Fleets {
		old, there := now[f.Name]
		delete(now, f.Name)
		switch {
		case !there:
			said = append(said, "fleet "+f.Name+" is new")
			failures = append(failures, l.fleets.open(ctx, f))
		case !reflect.DeepEqual(old, f):
			said = append(said, "fleet "+f.Name+" has changed"+whenLater(old, f))
			failures = append(failures, l.fleets.change(ctx, f))
		}
	}
	for _, f := range l.config.Fleets {
		if _, gone := now[f.Name]; gone {
			said = append(said, "fleet "+f.Name+" ends once its workers have finished what they hold")
			l.fleets.running.Go(func() { l.fleets.remove(f.Name) })
		}
	}
	// What is served stays where it is until the next start.
	c.Listen, c.Data, c.Strict = l.config.Listen, l.config.Data, l.config.Strict
	l.config = c
	return said, errors.Join(failures...)
}
