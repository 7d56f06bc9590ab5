package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/fleet/process"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/source/embedded"
	"github.com/muster-scale/muster/source/sqs"
)

// fleets are the fleets of a muster up. They may be added, changed and removed while it runs.
type fleets struct {
	local *local

	mu      sync.Mutex
	all     map[string]*ownFleet
	run     context.Context // nil until start
	fail    func(error)
	running sync.WaitGroup
}

// ownFleet is one fleet with its loop.
type ownFleet struct {
	config  config.Fleet
	members *process.Fleet
	loop    *controller.Loop
	stop    context.CancelFunc
	ended   chan struct{} // closed when the loop has ended
}

func newFleets(l *local) *fleets { return &fleets{local: l, all: map[string]*ownFleet{}} }

// served returns the loops as the API needs them.
func (f *fleets) served() map[string]server.Fleet {
	f.mu.Lock()
	defer f.mu.Unlock()
	served := map[string]server.Fleet{}
	for name, own := range f.all {
		served[name] = own.loop
	}
	return served
}

// names returns the names of the fleets, sorted.
func (f *fleets) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.all))
}

// loop returns the loop of the named fleet, which exists.
func (f *fleets) loop(name string) *controller.Loop {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[name].loop
}

// open adds a fleet. It starts at once when the others run.
func (f *fleets) open(ctx context.Context, c config.Fleet) error {
	l := f.local
	settings, err := settingsOf(c)
	if err != nil {
		return err
	}
	o := controller.LoopOptions{Settings: settings, History: l.history, Logger: l.options.logger}
	switch {
	case c.URL != "":
		source, err := sqs.New(ctx, c.URL)
		if err != nil {
			return fmt.Errorf("fleet %s: %w", c.Name, err)
		}
		o.Sources = []muster.Source{source}
	case c.Queue != "":
		source := embedded.New(l.queues, c.Queue)
		o.Sources, o.Wakes = []muster.Source{source}, []muster.Notifier{source}
	}
	argv, err := l.workerArgv(c)
	if err != nil {
		return err
	}
	members, err := process.New(process.Options{
		Fleet: c.Name, Dir: filepath.Join(l.config.Data, membersDir, c.Name), Argv: argv, WorkDir: l.config.Dir,
		Env: func(member string) []string { return l.workerEnv(c, member) }, Logger: l.options.logger,
	})
	if err != nil {
		return err
	}
	o.Fleet, o.Releaser = members, members
	o.Notify = func(out controller.Outcome) { l.options.notify(out) }
	f.mu.Lock()
	defer f.mu.Unlock()
	own := &ownFleet{config: c, members: members, loop: controller.NewLoop(o), stop: func() {}, ended: make(chan struct{})}
	f.all[c.Name] = own
	if f.run != nil {
		f.begin(own)
	}
	return nil
}

// settingsOf are the controller's settings for a fleet.
func settingsOf(c config.Fleet) (controller.Settings, error) {
	s := controller.Settings{
		Fleet: c.Name, Spec: c.Policy, Objective: c.Objective, Limits: c.Limits,
		Slots: c.Workers.Slots, BootPrior: c.Workers.Boot, Poll: c.Poll,
	}
	if c.Queue != "" {
		s.Queues = []string{c.Queue}
	}
	return controller.NewSettings(s)
}

// start lets all loops run until ctx ends; fail is called with the error of one that ends before.
func (f *fleets) start(ctx context.Context, fail func(error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run, f.fail = ctx, fail
	for _, own := range f.all {
		f.begin(own)
	}
}

// begin starts the loop of one fleet. The caller holds the lock.
func (f *fleets) begin(own *ownFleet) {
	ctx, stop := context.WithCancel(f.run)
	own.stop = stop
	f.running.Go(func() {
		defer close(own.ended)
		if err := own.loop.Run(ctx); err != nil {
			f.fail(err)
		}
	})
}

// change puts another configuration of a fleet in force. A fleet whose queue is another one ends and begins anew.
func (f *fleets) change(ctx context.Context, c config.Fleet) error {
	f.mu.Lock()
	own := f.all[c.Name]
	f.mu.Unlock()
	if own.config.Queue != c.Queue || own.config.URL != c.URL {
		f.remove(c.Name)
		return f.open(ctx, c)
	}
	settings, err := settingsOf(c)
	if err != nil {
		return err
	}
	argv, err := f.local.workerArgv(c)
	if err != nil {
		return err
	}
	own.members.Change(argv)
	own.loop.Change(ctx, settings)
	f.mu.Lock()
	defer f.mu.Unlock()
	own.config = c
	return nil
}

// remove ends a fleet: its loop first, then its workers, which finish what they hold.
func (f *fleets) remove(name string) {
	f.mu.Lock()
	own := f.all[name]
	delete(f.all, name)
	f.mu.Unlock()
	own.stop()
	<-own.ended
	own.members.Close(context.Background())
}

// stop waits for the loops, whose context has ended, and ends all workers once they have finished what they hold.
func (f *fleets) stop() {
	f.running.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	var closing sync.WaitGroup
	for _, own := range f.all {
		closing.Go(func() { own.members.Close(context.Background()) })
	}
	closing.Wait()
}

// workerArgv is how a worker of the fleet is started: this program, as muster work.
func (l *local) workerArgv(c config.Fleet) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("fleet %s: find this program to start workers with: %w", c.Name, err)
	}
	url := c.URL
	if url == "" {
		url = l.queueURL(c.Queue)
	}
	w := c.Workers
	argv := []string{self, "work", "--queue", url, "--log", "warn", "--slots", strconv.Itoa(w.Slots), "--idle", w.Idle.String(),
		"--visibility", w.Visibility.String(), "--grace", w.Grace.String(), "--warm-up", w.WarmUp.String()}
	if len(w.Env) > 0 {
		argv = append(argv, "--env", strings.Join(w.Env, ","))
	}
	return append(append(argv, "--"), w.Command...), nil
}

func (l *local) workerEnv(c config.Fleet, member string) []string {
	env := append(os.Environ(), l.options.env...)
	env = append(env, "MUSTER_API_URL="+l.apiURL(), "MUSTER_TOKEN="+l.token.Member(c.Name, member).Reveal(),
		"MUSTER_FLEET="+c.Name, "MUSTER_MEMBER="+member)
	if c.URL == "" {
		env = append(env, "AWS_ENDPOINT_URL_SQS=http://"+l.sqs.Addr().String(), "AWS_REGION=us-east-1", "AWS_SESSION_TOKEN=", "AWS_PROFILE=",
			"AWS_ACCESS_KEY_ID="+l.keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+l.keys.SecretAccessKey)
	}
	return env
}
