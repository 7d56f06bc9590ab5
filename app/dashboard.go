package app

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/history/curves"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/server/board"
	"github.com/muster-scale/muster/server/page"
	"github.com/muster-scale/muster/server/session"
	"github.com/muster-scale/muster/tree"
)

// This file opens the dashboard: its data, its files, its curves, and the sessions of browsers.

const (
	// curvesEvery is the interval of samples; curvesRarely is that of more than manyFleets.
	curvesEvery, curvesRarely = 2 * time.Second, 10 * time.Second
	manyFleets                = 50
)

// openCurves opens the curves of the fleets. A damaged file is replaced: it holds pictures and no decision.
func (a *App) openCurves(ctx context.Context) (err error) {
	path := filepath.Join(a.config.Data, CurvesFile)
	if a.options.Ephemeral {
		path = ""
	}
	moved := ""
	a.curves, moved, err = curves.Open(ctx, path)
	if moved != "" {
		a.options.Logger.Warn("the curves of the dashboard were damaged and begin anew", "kept", moved)
	}
	return err
}

// openDashboard makes the data and the page of the dashboard.
func (a *App) openDashboard() {
	a.page = page.New()
	_, port, _ := net.SplitHostPort(a.config.Listen.API) // a valid configuration has a port
	a.sessions = session.New(session.Options{Path: a.config.Dashboard.Prefix + "/", Port: port,
		ReadOnly: a.config.Dashboard.ReadOnly})
	a.current.Store(a.config)
	a.inForce.Begin(a.options.Watch, values(a.config))
	o := board.Options{
		Fleets: a.fleets.served, Standing: a.fleets.standing, Faults: a.faults.list, Incidents: a.incidents.served,
		Configuration: func() board.Configuration {
			return a.inForce.Configuration(a.faults.of(configFault), atStart...)
		},
		Version: a.options.Version, History: a.history, Logs: LogsDir(a.config.Data), Queues: a.queues,
		LastFailures: LastFailures(a.config.Data), Trees: a.trees.running,
	}
	if a.curves != nil { // a nil *curves.Store in an interface would not be nil
		o.Curves = a.curves
	}
	a.live = board.New(o)
}

// DashboardLink returns a link that opens one session of the role in a browser on this machine.
func (a *App) DashboardLink(role session.Role) string {
	return session.Link(a.APIURL()+a.config.Dashboard.Prefix+"/", a.sessions.Invite(role, time.Now()))
}

// HasDashboard tells whether the program was built with the dashboard.
func (a *App) HasDashboard() bool { return a.page.Built() }

// keepCurves takes samples of all fleets until ctx ends. A failure is logged and tried again: the samples wait.
func (a *App) keepCurves(ctx context.Context) {
	if a.curves == nil {
		return
	}
	every := curvesEvery
	tick := time.NewTicker(every)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			now = now.UTC().Round(0)
			all := a.live.Samples(now)
			for fleet, sample := range all {
				a.curves.Add(fleet, now, sample)
			}
			err := a.curves.Flush(ctx, now)
			if err != nil && !failed && ctx.Err() == nil {
				a.options.Logger.Warn("the curves of the dashboard could not be written", "error", err)
			}
			failed = err != nil
			wanted := curvesEvery
			if len(all) > manyFleets {
				wanted = curvesRarely
			}
			if wanted != every {
				every = wanted
				tick.Reset(every)
			}
		}
	}
}

// values are the effective values of a configuration, as the dashboard shows them.
func values(c *config.Config) []board.Value {
	all := []board.Value{}
	for _, v := range c.Effective(kinds.Table().Config()) {
		one := board.Value{Path: v.Path, Value: v.Text, Source: "default", Line: v.Line}
		if v.Line > 0 {
			one.Source = "file"
		}
		all = append(all, one)
	}
	return all
}

// Current is the configuration in force. Keys that take effect at the next start may differ from it.
func (a *App) Current() *config.Config { return a.current.Load() }

// History is what the fleets recorded.
func (a *App) History() muster.History { return a.history }

// running returns the trees that run, as they were last read for a fleet, or reads them.
func (f *treeReader) running(ctx context.Context) ([]tree.Root, error) {
	select {
	case f.reading <- struct{}{}:
		defer func() { <-f.reading }()
	case <-ctx.Done():
		return nil, fmt.Errorf("read the trees: %w", ctx.Err())
	}
	f.refresh(ctx)
	return f.roots, f.err
}
