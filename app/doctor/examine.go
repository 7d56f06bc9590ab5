package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/opening"
	"github.com/muster-scale/muster/app/sharing"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/leader/pglease"
)

// timeout bounds the checks of one fleet, and those of the account. A fleet in a wrong region would otherwise hang.
const timeout = 20 * time.Second

// exam is a run of the checks: the findings so far, the kinds, and the connections that the kinds share.
type exam struct {
	findings
	table kind.Table
	host  *kind.Host
}

// Examine checks everything that a configuration names. Findings about all fleets come first, then those of each fleet
// in the order of the configuration.
func Examine(ctx context.Context, c *config.Config) []Finding {
	e := &exam{table: kinds.Table(), host: kind.NewHost(kind.HostOptions{AWS: c.AWS})}
	e.programs(c)
	e.controllers(ctx, c)
	for _, f := range c.Fleets {
		e.fleet(ctx, f)
	}
	// A configuration that never calls AWS needs no credentials.
	if !e.host.Asked() && !slices.ContainsFunc(c.Fleets, workersOnAWS) {
		return append([]Finding{}, e.all...)
	}
	fleets := e.all
	e.all = []Finding{}
	e.account(ctx) // first, because a problem here explains problems of the fleets
	return append(e.all, fleets...)
}

// workersOnAWS tells whether the workers of a fleet call AWS for more than their queue.
func workersOnAWS(f config.Fleet) bool {
	return slices.ContainsFunc(f.Parts(), func(p config.Part) bool { return p.Workers.OnAWS() })
}

// programs checks that the programs of local fleets exist. Each missing one is a finding of its own.
func (e *exam) programs(c *config.Config) {
	err := config.CheckCommands(c, exec.LookPath)
	if faults, ok := errors.AsType[config.Faults](err); ok {
		for _, f := range faults {
			e.add("", "programs", Wrong, "%s", f.String())
		}
		return
	}
	if slices.ContainsFunc(c.Fleets, func(f config.Fleet) bool { return f.Local() }) || err != nil {
		e.result("", "programs", err, "every program that a fleet runs exists")
	}
}

// controllers checks the store that several controllers share. Before the first start the tables may be missing: muster
// up makes those of PostgreSQL, but a user has to make the one of DynamoDB.
func (e *exam) controllers(ctx context.Context, c *config.Config) {
	if !c.Controllers.Several() {
		return
	}
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	live, err := sharing.Check(ctx, c.Controllers, c.AWS)
	if errors.Is(err, pglease.ErrNoTables) {
		e.add("", "controllers", Note, "%s: %v", c.Controllers.Text(), err)
		return
	}
	e.result("", "controllers", err, "the store %s can be read, and these controllers live: %s",
		c.Controllers.Text(), cmp.Or(strings.Join(live, ", "), "none"))
}

// account checks credentials and region. It calls no AWS service but those from which the credentials come.
func (e *exam) account(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	account, err := e.host.Account(ctx)
	if err != nil {
		e.add("", "credentials", Wrong, "%v", err)
		return
	}
	cfg, err := account.Region("")
	if err != nil {
		e.add("", "region", Note, "%v; a fleet needs none if it sets its own or if a queue's URL holds it", err)
		if cfg, err = account.Region("us-east-1"); err != nil { // any region will do for the credentials
			return
		}
	} else {
		e.add("", "region", OK, "%s, where nothing names another", cfg.Region)
	}
	keys, err := cfg.Credentials.Retrieve(ctx)
	if !e.result("", "credentials", err, "found by %s", keys.Source) {
		return
	}
	// Keys that expire soon are renewed by their source, if it can; expired ones it could not renew.
	if left := time.Until(keys.Expires); keys.CanExpire && left < 0 {
		ago := render.Seconds((-left).Round(time.Second).Seconds())
		e.add("", "credentials", Wrong, "the credentials expired %s ago: renew them", ago)
	}
}

// fleet checks the queues and the members of one fleet. It stops at the first step that the following ones depend on.
func (e *exam) fleet(ctx context.Context, f config.Fleet) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	for i := range f.Queues {
		e.queue(ctx, f, i)
	}
	e.signals(ctx, f)
	e.metrics(ctx, f)
	members, err := e.table.MembersOf(f)
	if err != nil {
		e.add(f.Name, "members", Wrong, "%v", err)
		return
	}
	// A local fleet has nothing to read before it runs: its programs are checked above.
	if f.Local() {
		e.add(f.Name, "members", OK, "%s", members.Describe())
		e.add(f.Name, "abilities", OK, "Releaser")
		return
	}
	ports, err := members.Open(ctx, e.host, f, nil)
	if err != nil {
		e.add(f.Name, "members", Wrong, "%v", err)
		return
	}
	sizer := kind.SizerOf(f)
	var delegator muster.Delegator
	if sizer != nil {
		if delegator, err = sizer.Open(ctx, e.host, f, nil); err != nil {
			e.add(f.Name, "members", Wrong, "%v", err)
			return
		}
	}
	if !e.members(ctx, f, members, ports) {
		return
	}
	e.add(f.Name, "abilities", OK, "%s", strings.Join(abilities(ports, sizer != nil), ", "))
	e.reports(ctx, f)
	e.owners(ctx, f, ports, delegator)
	writes := members.Writes(sizer != nil)
	if sizer != nil {
		for _, note := range sizer.Notes(ctx, f, ports) {
			e.add(f.Name, "cooldown", Note, "%s", note)
		}
		writes = append(sizer.Writes(f.Facts().Tracked), writes...)
	}
	// A permission shows only when it is used, and a test write would change something.
	e.add(f.Name, "permissions", Unchecked, "%s: only a write could tell; docs/iam.md lists them",
		strings.Join(writes, ", "))
}

// members lists the members, and tells whether that succeeded. The other checks of a fleet depend on that.
func (e *exam) members(ctx context.Context, f config.Fleet, members kind.Members, ports *kind.Ports) bool {
	l, err := ports.Fleet.Members(ctx)
	if !e.result(f.Name, "members", err, "%s", members.Describe()) {
		return false
	}
	// The listing may contain members that have ended.
	living := 0
	for _, m := range l.Members {
		if !m.Ended {
			living++
		}
	}
	e.add(f.Name, "members", OK, "%d there", living)
	// Otherwise the first thing that Muster does to this fleet might be a scale-in.
	if living > f.Limits.Max {
		e.add(f.Name, "max", Wrong, "%d are there and max is %d: idle ones would be stopped until max is reached; "+
			"raise max if that is not meant", living, f.Limits.Max)
	}
	if l.Service != nil {
		for _, note := range l.Service.Notes {
			e.add(f.Name, "note", noteLevel(note), "%s", note)
		}
	}
	return true
}

// noteLevel tells whether a note of a fleet keeps Muster from sizing it. It goes by the words of the adapters, because
// a note is only a text.
func noteLevel(note string) Level {
	for _, grave := range []string{"operates the group", "cannot be sized", "launching is suspended"} {
		if strings.Contains(note, grave) {
			return Wrong
		}
	}
	return Note
}

// queue reads the counts of a queue once. It receives nothing.
func (e *exam) queue(ctx context.Context, f config.Fleet, i int) {
	q := f.Queues[i]
	row, err := e.table.Queue(q)
	// muster up makes an embedded queue when it starts, so it need not exist.
	if err == nil && !row.Elsewhere {
		e.add(f.Name, "queue", OK, "%s is embedded in muster up", q.Name)
		return
	}
	var open kind.Queue
	if err == nil {
		open, err = row.Open(ctx, e.host, f, i)
	}
	if err != nil {
		e.add(f.Name, "queue", Wrong, "%v", err)
		return
	}
	o, err := open.Source.Observe(ctx)
	if err == nil {
		err = unseen(q.Name, o)
	}
	e.result(f.Name, "queue", err, "%s has a backlog of %s and %s in flight%s", q.Name, shown(o.Backlog),
		shown(o.InFlight), wakes(open))
	if err == nil && !o.OldestAge.Known && !o.OldestAge.Doubted && o.OldestAge.Reason != "" {
		e.add(f.Name, "queue", Note, "the age of its oldest message is unknown: %s", o.OldestAge.Reason)
	}
}

// wakes says how a source can start a step before the next poll: by a notification, or by an expected time.
func wakes(q kind.Queue) string {
	var all []string
	if q.Wakes != nil {
		all = append(all, "Notifier")
	}
	if q.Expecter != nil {
		all = append(all, "Expecter")
	}
	if len(all) == 0 {
		return ""
	}
	return "; it can wake the loop (" + strings.Join(all, ", ") + ")"
}

// unseen returns an error for a queue that answers without its counts. Without them no decrease would ever be decided.
func unseen(queue string, o muster.QueueObservation) error {
	for _, s := range []struct {
		name string
		muster.Sample
	}{{"backlog", o.Backlog}, {"number in flight", o.InFlight}} {
		if !s.Known && !s.Doubted {
			return fmt.Errorf("the %s of %s is unknown: %s", s.name, queue, s.Reason)
		}
	}
	return nil
}

// shown renders a count; a doubted one is 0 as far as a single reading tells.
func shown(s muster.Sample) string {
	if s.Doubted {
		return "0"
	}
	return s.String()
}

// abilities names the optional ports of a fleet. Without a Releaser, for instance, Muster cannot choose which member
// ends.
func abilities(p *kind.Ports, delegated bool) []string {
	var all []string
	for _, a := range []struct {
		name string
		has  bool
	}{
		{"Releaser", p.Releaser != nil}, {"Protector", p.Protector != nil}, {"Trimmer", p.Trimmer != nil},
		{"WarmPool", p.Prepares}, {"Expecter", p.Expecter != nil}, {"Delegator", delegated},
	} {
		if a.has {
			all = append(all, a.name)
		}
	}
	return all
}

// owners checks whether other systems size the fleet. Only some kinds of fleets can tell that. Where the question
// itself fails, for lack of a permission, the finding is unchecked. delegator is nil where Muster sizes the fleet.
func (e *exam) owners(ctx context.Context, f config.Fleet, ports *kind.Ports, delegator muster.Delegator) {
	owned, ok := ports.Fleet.(interface {
		Owners(context.Context) ([]string, error)
	})
	if !ok {
		return
	}
	others, err := owned.Owners(ctx)
	if err != nil {
		e.add(f.Name, "owners", Unchecked, "%v", err)
		return
	}
	sizer := kind.SizerOf(f)
	if sizer != nil {
		others = without(others, sizer.Owner(f))
	}
	// The policy that Muster itself maintains is not another owner, whatever a template has called it.
	if own, ok := delegator.(interface {
		Maintained(context.Context) ([]string, error)
	}); ok && len(others) > 0 {
		ours, err := own.Maintained(ctx)
		if err != nil {
			e.add(f.Name, "owners", Unchecked, "%v", err)
			return
		}
		for _, name := range ours {
			others = without(others, name)
		}
	}
	names := strings.Join(others, ", ")
	switch {
	// Two writers of one number overwrite each other at every poll.
	case len(others) > 0 && sizer == nil:
		e.add(f.Name, "owners", Wrong, "the scaling policy %s sizes it too, and the two would undo each other's "+
			"changes; delete or disable the policy, or leave the size to AWS with delegate", names)
	case len(others) > 0:
		e.add(f.Name, "owners", Note, "the scaling policy %s sizes it too: AWS scales out when any policy asks for "+
			"it, and in when all do", names)
	default:
		e.add(f.Name, "owners", OK, "nothing else sizes it")
	}
}

// reports checks whether the fleet's table holds reports of its workers. No report is only a note: before the first
// start there are none.
func (e *exam) reports(ctx context.Context, f config.Fleet) {
	if f.ReportsTable == "" {
		return
	}
	table, region, err := opening.Reports(ctx, e.host, f)
	if err != nil {
		e.add(f.Name, "reports", Wrong, "%v", err)
		return
	}
	entries, err := table.Read(ctx, f.Name, time.Now())
	if entries == nil && err != nil {
		err = awsapi.Explain("read worker reports from the DynamoDB table "+f.ReportsTable, region, err)
	}
	// Old reports may be those of workers that ended; the time lets the user judge.
	var newest time.Time
	for _, entry := range entries {
		if entry.Report.SentAt.After(newest) {
			newest = entry.Report.SentAt
		}
	}
	switch {
	case err != nil:
		e.add(f.Name, "reports", Wrong, "%v", err)
	case len(entries) == 0:
		e.add(f.Name, "reports", Note, "the table %s has none of this fleet: start its workers with muster work "+
			"--report dynamodb:%s "+
			"--fleet %s", f.ReportsTable, f.ReportsTable, f.Name)
	default:
		workers := cmp.Or(render.Plural(len(entries), "worker"), "none")
		e.add(f.Name, "reports", OK, "the table %s has %s of this fleet, the newest of %s", f.ReportsTable, workers,
			newest.UTC().Format(time.RFC3339))
	}
}
