package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/sqsapi"
)

// remoteListener is a listener that other machines reach.
type remoteListener struct {
	net.Listener
	api bool // else the SQS endpoint
}

// openRemote opens the addresses for other machines. Workers on this machine still use loopback.
func (a *App) openRemote(b config.Beyond) error {
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
		a.remote = append(a.remote, remoteListener{listener, at.api})
	}
	return nil
}

// openServers makes the servers; Run serves them. Their context outlives that of Run, because workers use the servers
// while they finish. Every decision is counted for the metrics before the caller of Open hears of it.
func (a *App) openServers() error {
	a.serving, a.stopServing = context.WithCancel(context.Background())
	a.metrics = server.NewMetrics(a.served, a.standing)
	before := a.options.Notify
	a.options.Notify = func(o controller.Outcome) {
		a.metrics.Count(o)
		a.incidents.see(o)
		a.live.See(o)
		before(o)
	}
	collect := func(p *exposition.Page) {
		a.metrics.Collect(p)
		server.CollectQueues(p, a.queues)
		server.CollectIncidents(p, a.incidents.served())
	}
	a.incidents = newIncidents(a)
	a.openDashboard()
	a.conns = accept.NewPool(accept.Limit(accept.OpenFiles()), a.options.Logger)
	a.servers.api = server.NewServer(server.New(server.Options{
		Accepting: a.conns.Failing, Token: a.token, Fleets: a.served, Standing: a.standing,
		Faults: a.faults.list, Incidents: a.incidents.served,
		Decisions: a.history, Queues: a.queues, LastFailures: LastFailures(a.config.Data), Metrics: collect,
		Logs:    a.workerLogs,
		Event:   a.metrics.CountEvent,
		Version: a.options.Version, Hosts: a.config.Listen.Beyond.Hosts,
		Routes: append(append(a.live.Routes(), a.eventRoute()), a.options.Routes(a)...), Sessions: a.sessions,
		Peek: a.config.Dashboard.Peek, Page: a.page, Prefix: a.config.Dashboard.Prefix,
	}))
	endpoint := sqsapi.New(sqsapi.Options{
		Queues: a.queues, Keys: a.keys, AnyCredentials: a.options.AnyCredentials, Logger: a.options.Logger,
		Hosts: a.config.Listen.Beyond.Hosts, Serving: a.serving,
	})
	a.servers.sqs, a.servers.front = sqsapi.NewServer(endpoint), sqsapi.NewTCPServer(endpoint, a.options.Logger)
	// Errors of single connections, such as a failed TLS handshake, are for debugging only.
	for _, s := range []*http.Server{a.servers.api, a.servers.sqs} {
		s.ErrorLog = slog.NewLogLogger(a.options.Logger.Handler(), slog.LevelDebug)
	}
	return nil
}
