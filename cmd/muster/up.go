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
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/internal/host"
)

func newUp(g *global) *cobra.Command {
	var o localOptions
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
			if err := usage(checkCommands(c)); err != nil {
				return err
			}
			o.watch = g.file()
			host.SparePlace()
			return up(cmd.Context(), c, o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&o.ephemeral, "ephemeral", false, "keep the queue and the history in memory")
	cmd.Flags().BoolVar(&o.shadow, "shadow", false, "only decide and record, beside the systems that size the fleets; muster explain --against compares")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "refuse for 60 s, as AWS does, a second purge and the name of a deleted queue")
	cmd.Flags().BoolVar(&o.anyCredentials, "any-credentials", false, "accept any signature at the SQS endpoint")
	return cmd
}

func up(ctx context.Context, c *config.Config, o localOptions, out, errOut io.Writer) error {
	o.logger = newLogger(errOut, slog.LevelInfo)
	if err := descendants.Adopt(); err != nil {
		o.logger.Warn("what a worker runs that is killed may go on", "error", err)
	}
	said := &sayer{out: out, logs: logsPlace(c.Data)}
	o.notify = said.outcome
	o.told = func(text string) { said.printf("%s\n", text) }
	l, err := openLocal(ctx, c, o)
	if err != nil {
		return err
	}
	defer l.close()
	if len(c.Fleets) == 0 && len(c.Queues) == 0 {
		if err := l.queues.CreateQueue(ctx, "default", nil, nil); err != nil {
			return err
		}
	}
	said.start(l)
	go func() {
		<-ctx.Done()
		said.stopping(time.Now().UTC(), l.fleets.served(), c.Fleets)
	}()
	if err := l.run(ctx); err != nil {
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
func (s *sayer) start(l *local) {
	url := ""
	for _, f := range l.config.Fleets {
		if url == "" && len(f.Queues) > 0 && f.Queues[0].URL == "" {
			url = l.queueURL(f.Queues[0].Name)
		}
	}
	s.printf("muster %s, data in %s\n\n", thisProgram().Version, l.config.Data)
	for _, name := range l.queues.Queues() {
		s.printf("  queue  %s\n", l.queueURL(name))
		if url == "" {
			url = l.queueURL(name)
		}
	}
	s.printf("  api    %s (its token is in %s/%s)\n\n", l.apiURL(), l.config.Data, tokenFile)
	for _, f := range l.config.Fleets {
		if f.ASG != nil && f.ASG.Reports == config.ReportsRequired {
			s.printf("  the workers on instances of %s report with the token in %s\n", f.ASG.Group, l.fleetToken(f.Name))
			if l.config.Listen.Beyond.API == "" {
				s.printf("  they cannot reach the api above: state listen.beyond.api, or asg.reports: none for workers that do not report, or that keep their reports in a table (reports_from)\n")
			}
		}
	}
	for _, b := range l.beyond {
		s.printf("  open to other machines, with TLS: %s\n", b.Addr())
	}
	s.printf("for the AWS SDKs and the AWS command line, in place of the AWS keys and profile of a shell (muster env prints this, too):\n")
	s.printf("%s\n", shellLines(clientVariables("http://"+l.sqs.Addr().String(), l.keys)))
	if url == "" {
		return
	}
	s.printf("try it in another terminal, in %s:\n", workDir())
	if len(l.config.Fleets) == 0 {
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
