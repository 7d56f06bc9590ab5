package process

import (
	"context"
	"errors"
	"sync"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/fleet/split"
	"github.com/muster-scale/muster/kind"
)

// Config is a fleet of processes on this machine. It has no keys: the fleet's workers describe the processes.
type Config struct{}

// Kind is the row of the kind.
func Kind() kind.MembersRow {
	return kind.MembersRow{
		New: func() kind.Members { return &Config{} },
		Adapters: []kind.Adapter{
			kind.AdapterFor[*Fleet]("processes on this machine"),
			kind.AdapterFor[*split.Fleet]("several kinds of workers under one size"),
		},
	}
}

// Keys implements [config.Members].
func (*Config) Keys() []keys.Key { return nil }

// Facts implements [config.Members].
func (*Config) Facts() config.Facts { return config.Facts{Local: true, Reported: true, Answered: true} }

// Check implements [config.Members].
func (*Config) Check(s *keys.Source, path string, f *config.Fleet) { f.CheckWorkers(s, path) }

// Describe implements [kind.Members].
func (*Config) Describe() string { return "processes of this machine" }

// World implements [kind.Members].
func (*Config) World() kind.World { return kind.World{Local: true} }

// Writes implements [kind.Members].
func (*Config) Writes(bool) []string { return nil }

// parts are the process fleets of a fleet: one, or one for each part of its split.
type parts []part

// part is one part with its processes, and close of its log.
type part struct {
	split.Part
	processes *Fleet
	close     func() error
}

// Open implements [kind.Members]. It adopts running workers.
func (*Config) Open(_ context.Context, h *kind.Host, f config.Fleet, left *kind.Ports) (*kind.Ports, error) {
	if left != nil {
		return left, left.Change(f)
	}
	var all parts
	for _, p := range f.Parts() {
		one, err := open(h, f, p)
		if err != nil {
			return nil, errors.Join(err, all.closeLogs())
		}
		all = append(all, one)
	}
	ports := &kind.Ports{Close: all.end, Change: func(f config.Fleet) error { return all.change(h, f) }}
	if len(all) == 1 {
		ports.Fleet, ports.Releaser = all[0].processes, all[0].processes
		return ports, nil
	}
	whole, err := split.New(all.shares())
	if err != nil {
		return nil, errors.Join(err, all.closeLogs())
	}
	ports.Fleet, ports.Releaser = whole, whole
	return ports, nil
}

// open opens the processes of one part, with its log.
func open(h *kind.Host, f config.Fleet, p config.Part) (part, error) {
	start, err := h.Local().Start(f, p)
	if err != nil {
		return part{}, err
	}
	printed, closeLog := h.Local().Log(f)
	processes, err := New(Options{
		Fleet: f.Name, Dir: start.Dir, Argv: start.Argv, WorkDir: start.WorkDir, Env: start.Env, Printed: printed,
		Logger: h.Logger(),
	})
	if err != nil {
		return part{}, errors.Join(err, closeLog())
	}
	share := split.Part{Name: p.Name, Base: p.Base, Weight: p.Weight, Max: p.Max, Fleet: processes, Releaser: processes}
	return part{share, processes, closeLog}, nil
}

// shares returns the parts as the split of one total needs them.
func (p parts) shares() []split.Part {
	var all []split.Part
	for _, one := range p {
		all = append(all, one.Part)
	}
	return all
}

// change applies f to workers that start from now on. Its parts are those of f.
func (p parts) change(h *kind.Host, f config.Fleet) error {
	for i, of := range f.Parts() {
		start, err := h.Local().Start(f, of)
		if err != nil {
			return err
		}
		p[i].processes.Change(start.Argv, start.Env)
	}
	return nil
}

// end stops all workers after their messages in progress.
func (p parts) end() {
	var all sync.WaitGroup
	for _, one := range p {
		all.Go(func() {
			one.processes.Close(context.Background())
			_ = one.close() // a write error was logged before
		})
	}
	all.Wait()
}

// closeLogs closes the logs of parts when opening failed. Adopted workers keep running.
func (p parts) closeLogs() error {
	var failures []error
	for _, one := range p {
		failures = append(failures, one.close())
	}
	return errors.Join(failures...)
}
