package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/server/session"
)

// Console prints events, one line each. Several goroutines may use it.
type Console struct {
	mu  sync.Mutex
	out io.Writer
	// last is what was last printed about each fleet: the reason of a hold, or the size in shadow mode.
	last map[string]string
	// version is the version of this program.
	version string
	// logs is the directory of the fleets' logs. failing holds, by fleet, the failed attempts not printed yet.
	logs    string
	failing map[string]*failing
	// hideKeys keeps the keys of the embedded queue out of the output.
	hideKeys bool
}

// New returns a console that prints to out. It reads errors from the fleets' logs in the directory logs.
func New(out io.Writer, logs, version string) *Console {
	return &Console{out: out, logs: logs, version: version}
}

// HideKeys makes [Console.Start] print no keys. A service calls it first: its output is stored in a log, which more
// people read than the data directory.
func (s *Console) HideKeys() { s.hideKeys = true }

// Printf prints a text without a time.
func (s *Console) Printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format, args...)
}

// Start prints the addresses, and the lines to paste into a shell: they have the keys of the embedded queue, unless
// [Console.HideKeys] was called.
func (s *Console) Start(a *app.App) {
	// The first queue of a fleet is the one to try; without a fleet, any queue.
	url := ""
	for _, f := range a.Config().Fleets {
		if url == "" && len(f.Queues) > 0 && f.Queues[0].Own() {
			url = a.QueueURL(f.Queues[0].Name)
		}
	}
	s.Printf("muster %s, data in %s\n\n", s.version, a.Config().Data)
	for _, name := range a.Queues().Queues() {
		s.Printf("  queue  %s\n", a.QueueURL(name))
		if url == "" {
			url = a.QueueURL(name)
		}
	}
	s.Printf("  api    %s (its token is in %s/%s)\n", a.APIURL(), a.Config().Data, app.TokenFile)
	s.dashboard(a)
	for _, f := range a.Config().Fleets {
		members, err := kinds.Table().MembersOf(f)
		// Workers on other machines need two things to report: a token, and an address that they reach.
		if facts := f.Facts(); err == nil && !facts.Local && facts.Reported {
			s.Printf("  the workers of %s report with the token in %s\n", members.Describe(), a.FleetTokenFile(f.Name))
			if a.Config().Listen.Beyond.API == "" {
				s.Printf("  they cannot reach the api above: set listen.beyond.api, or %s.reports: none for "+
					"workers that do not report, or that keep their reports in a table (reports_from)\n", facts.Key)
			}
		}
	}
	for _, b := range a.Beyond() {
		s.Printf("  open to other machines, with TLS: %s\n", b)
	}
	if s.hideKeys {
		s.Printf("muster env prints the keys of the queue, for the AWS SDKs and the AWS command line\n")
		return
	}
	s.Printf("for the AWS SDKs and the AWS command line, in place of the AWS keys and profile of a shell (muster " +
		"env prints this, too):\n")
	s.Printf("%s\n", client.ShellLines(client.Variables(a.Endpoint(), a.Keys())))
	if url == "" {
		return
	}
	s.Printf("try it in another terminal, in %s:\n", workDir())
	if len(a.Config().Fleets) == 0 {
		s.Printf("muster work --queue %s -- wc -c\n", url)
	}
	s.Printf("muster send --queue %s --count 10\n\n", url)
}

// dashboard prints the link to the dashboard. It opens a session, so it is a secret, as the keys are.
func (s *Console) dashboard(a *app.App) {
	switch {
	case !a.HasDashboard():
		s.Printf("\n")
	case s.hideKeys:
		s.Printf("  page   muster dashboard prints a link to it\n\n")
	default:
		s.Printf("  page   %s (opens once, within %s)\n\n", a.DashboardLink(session.Operator),
			render.Seconds(session.InviteFor.Seconds()))
	}
}

// workDir names the directory in which the commands of the start work without -f.
func workDir() string {
	if dir, err := os.Getwd(); err == nil {
		return dir
	}
	return "this directory"
}

// Outcome prints a decision that sets a desired count or holds for a new reason, and the changes of members.
func (s *Console) Outcome(o controller.Outcome) {
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
	if d.Verdict == muster.Apply || d.Verdict == muster.Shadow && s.last[d.Fleet] != key || d.Verdict == muster.Hold &&
		(d.Reason != muster.Steady && s.last[d.Fleet] != key) {
		fmt.Fprintf(s.out, "%s %s %s\n", at, d.Fleet, d.Sentence())
	}
	s.last[d.Fleet] = key
	// Every step counts, also one without a failure: it may be time to print earlier ones.
	s.failed(d.Fleet, d.At, o.Failed)
	for _, c := range o.Overrides {
		fmt.Fprintf(s.out, "%s %s override %s %s: %s\n", at, d.Fleet, c.Override.ID,
			strings.ReplaceAll(string(c.What), "_", " "), c.Override.Text(d.At))
	}
	for _, c := range o.Changes {
		fmt.Fprintf(s.out, "%s %s %s %s", at, d.Fleet, c.Member, c.What)
		if c.Why != "" {
			fmt.Fprintf(s.out, ": %s", c.Why)
		}
		fmt.Fprintln(s.out)
	}
}
