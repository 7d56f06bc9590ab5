package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/internal/host"
)

func newUp(g *global) *cobra.Command {
	var o app.Options
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the embedded queue, the controller and the fleets of a configuration",
		Long: `Up runs everything that the configuration names, until it is interrupted: the embedded queue behind its
SQS endpoint, a controller for each fleet, the worker processes and the HTTP API. Without -f it starts an
empty set-up with a queue called default.

The first interrupt lets workers finish what they hold; the second leaves them to finish by themselves.
The configuration is read again when its file changes, or on a hang-up signal; one with a fault is refused, and
the one before stays in force.`,
		Example: `  muster up
  muster up -f muster.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.load()
			if err != nil {
				return err
			}
			if err := usage(app.CheckCommands(c)); err != nil {
				return err
			}
			o.Watch = g.file()
			host.SparePlace()
			return up(cmd.Context(), c, o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&o.Ephemeral, "ephemeral", false, "keep the queue and the history in memory")
	cmd.Flags().BoolVar(&o.Shadow, "shadow", false, "only decide and record, beside the systems that size the fleets; muster explain --against compares")
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "refuse for 60 s, as AWS does, a second purge and the name of a deleted queue")
	cmd.Flags().BoolVar(&o.AnyCredentials, "any-credentials", false, "accept any signature at the SQS endpoint")
	return cmd
}

func up(ctx context.Context, c *config.Config, o app.Options, out, errOut io.Writer) error {
	o.Logger = newLogger(errOut, slog.LevelInfo)
	if err := descendants.Adopt(); err != nil {
		o.Logger.Warn("what a worker runs that is killed may go on", "error", err)
	}
	said := &sayer{out: out, logs: app.LogsDir(c.Data)}
	o.Notify = said.outcome
	o.Told = func(text string) { said.printf("%s\n", text) }
	o.Version = thisProgram().Version
	a, err := app.Open(ctx, c, o)
	if err != nil {
		return err
	}
	defer a.Close()
	if len(c.Fleets) == 0 && len(c.Queues) == 0 {
		if err := a.Queues().CreateQueue(ctx, "default", nil, nil); err != nil {
			return err
		}
	}
	said.start(a)
	go func() {
		<-ctx.Done()
		said.stopping(time.Now().UTC(), a.Fleets(), c.Fleets)
	}()
	if err := a.Run(ctx); err != nil {
		return err
	}
	said.printf("stopped\n")
	return nil
}

// sayer prints what happens, one line an event, from several goroutines.
type sayer struct {
	mu   sync.Mutex
	out  io.Writer
	last map[string]string
	// logs is the directory of the fleets' logs, and failing counts by fleet what failed there and was not said.
	logs    string
	failing map[string]*failing
}

func (s *sayer) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format, args...)
}

// start prints where everything is and what to paste.
func (s *sayer) start(a *app.App) {
	url := ""
	for _, f := range a.Config().Fleets {
		if url == "" && len(f.Queues) > 0 && f.Queues[0].URL == "" {
			url = a.QueueURL(f.Queues[0].Name)
		}
	}
	s.printf("muster %s, data in %s\n\n", thisProgram().Version, a.Config().Data)
	for _, name := range a.Queues().Queues() {
		s.printf("  queue  %s\n", a.QueueURL(name))
		if url == "" {
			url = a.QueueURL(name)
		}
	}
	s.printf("  api    %s (its token is in %s/%s)\n\n", a.APIURL(), a.Config().Data, app.TokenFile)
	for _, f := range a.Config().Fleets {
		if f.ASG != nil && f.ASG.Reports == config.ReportsRequired {
			s.printf("  the workers on instances of %s report with the token in %s\n", f.ASG.Group, a.FleetTokenFile(f.Name))
			if a.Config().Listen.Beyond.API == "" {
				s.printf("  they cannot reach the api above: state listen.beyond.api, or asg.reports: none for workers that do not report, or that keep their reports in a table (reports_from)\n")
			}
		}
	}
	for _, b := range a.Beyond() {
		s.printf("  open to other machines, with TLS: %s\n", b)
	}
	s.printf("for the AWS SDKs and the AWS command line, in place of the AWS keys and profile of a shell (muster env prints this, too):\n")
	s.printf("%s\n", shellLines(clientVariables(a.Endpoint(), a.Keys())))
	if url == "" {
		return
	}
	s.printf("try it in another terminal, in %s:\n", workDir())
	if len(a.Config().Fleets) == 0 {
		s.printf("muster work --queue %s -- wc -c\n", url)
	}
	s.printf("muster send --queue %s --count 10\n\n", url)
}

func workDir() string {
	if dir, err := os.Getwd(); err == nil {
		return dir
	}
	return "this directory"
}

// outcome prints a decision that sets a size, or that holds for a new reason, and what became of members.
func (s *sayer) outcome(o controller.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := o.Decision
	at := d.At.Local().Format("15:04:05")
	if s.last == nil {
		s.last = map[string]string{}
	}
	key := string(d.Reason)
	if d.Verdict == muster.Shadow {
		key = fmt.Sprintf("would set %d, now %d", d.Desired, d.Previous)
	}
	if d.Verdict == muster.Apply || d.Verdict == muster.Shadow && s.last[d.Fleet] != key || d.Verdict == muster.Hold && (d.Reason != muster.Steady && s.last[d.Fleet] != key) {
		fmt.Fprintf(s.out, "%s %s %s\n", at, d.Fleet, d.Sentence())
	}
	s.last[d.Fleet] = key
	s.failed(d.Fleet, d.At, o.Failed)
	for _, c := range o.Changes {
		fmt.Fprintf(s.out, "%s %s %s %s", at, d.Fleet, c.Member, c.What)
		if c.Why != "" {
			fmt.Fprintf(s.out, ": %s", c.Why)
		}
		fmt.Fprintln(s.out)
	}
}
