package stack

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/deploy/dashboard"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/policy"
)

// This file decides what a stack consists of. Each part adds the parameters that it needs.

// Options say what is not about the fleet.
type Options struct {
	// Events is the name of the queue of events that the stack makes, or [NoEvents]. It is empty for the first of the
	// configuration. A queue belongs to one stack, so each of several fleets needs its own.
	Events string
}

// Help describes the template for the help of muster template stack.
const Help = `Stack prints a template of CloudFormation or Terraform with everything on AWS below one fleet: its queues
with their dead letters, the group or the tasks with their roles, the scaling policy and its functions if AWS sizes the
fleet, and the queue of events with its rules. It calls nothing.

Names, limits and targets are those of the configuration. What it does not state, such as subnets, an image or where the
programs are, is a parameter without a default. The template states no desired size. docs/templates.md explains it.`

// maker holds the state of one stack while it is made.
type maker struct {
	Stack
	c     *config.Config
	table kind.Table
	f     config.Fleet
	b     kind.Blueprint
	at    kind.Place
}

// Make returns the stack of a fleet. The name may be empty if the configuration has one fleet. An error says which key
// is missing or cannot be carried into a template.
func Make(c *config.Config, table kind.Table, fleet string, o Options) (Stack, error) {
	m := &maker{c: c, table: table}
	err := m.find(fleet)
	if err == nil {
		err = m.make(o)
	}
	if err != nil {
		return Stack{}, fmt.Errorf("make a template: %w", err)
	}
	return m.Stack, nil
}

// find finds the fleet and its blueprint.
func (m *maker) find(name string) error {
	var names []string
	for _, f := range m.c.Fleets {
		names = append(names, f.Name)
		if f.Name == name || name == "" && len(m.c.Fleets) == 1 {
			m.f = f
		}
	}
	switch {
	case len(names) == 0:
		return errors.New("found no fleet; name the configuration with -f FILE")
	case m.f.Name == "" && name == "":
		return fmt.Errorf("found %d fleets, a template has one: name %s", len(names), strings.Join(names, " or "))
	case m.f.Name == "":
		return fmt.Errorf("found no fleet %q in the configuration, allowed is %s", name, strings.Join(names, ", "))
	}
	t, ok := m.f.Members.(kind.Templated)
	if !ok {
		return fmt.Errorf("the fleet %s has processes of one machine; templates are for fleets with asg or ecs",
			m.f.Name)
	}
	m.b, m.Fleet = t.Blueprint(m.f), m.f.Name
	return m.place()
}

// place finds the account and the region, and refuses queues elsewhere.
func (m *maker) place() error {
	m.Region = kind.HomeOf(m.f)
	for _, q := range m.f.Queues {
		u, err := url.Parse(q.URL)
		if err != nil || q.Region == "" {
			return fmt.Errorf("the queue %s of the fleet %s is not on SQS: state its URL, "+
				"https://sqs.REGION.amazonaws.com/ACCOUNT/%s, which the template then makes", q.Text(), m.f.Name,
				q.Name)
		}
		account, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		if m.Account = cmp.Or(m.Account, account); m.Account != account || q.Region != m.Region {
			return fmt.Errorf("the queue %s is in %s of the account %s, the fleet %s in %s of %s: a template makes "+
				"things in one place", q.Name, q.Region, account, m.f.Name, m.Region, m.Account)
		}
	}
	if m.Account == "" || m.Region == "" {
		return fmt.Errorf("the fleet %s has no queue on SQS, which would name account and region", m.f.Name)
	}
	m.at = kind.Place{Account: m.Account, Region: m.Region}
	return nil
}

// make makes all parts, in the order of the template.
func (m *maker) make(o Options) error {
	m.queues()
	m.Table = m.f.ReportsTable
	if err := m.tracking(); err != nil {
		return err
	}
	if err := m.members(); err != nil {
		return err
	}
	if err := m.functions(); err != nil {
		return err
	}
	if err := m.events(o.Events); err != nil {
		return err
	}
	m.about()
	return m.checkNames()
}

// queues makes the queues of the fleet.
func (m *maker) queues() {
	for _, q := range m.f.Queues {
		m.Queues = append(m.Queues, m.queue(q.Name, m.f.Workers.Visibility))
	}
}

// queue makes one queue. The dead letters of a FIFO queue need one of that kind too.
func (m *maker) queue(name string, visibility time.Duration) Queue {
	bare, fifo := strings.CutSuffix(name, ".fifo")
	q := Queue{Name: name, Dead: bare + "-dead", Fifo: fifo, Visibility: int(visibility / time.Second)}
	if fifo {
		q.Dead += ".fifo"
	}
	return q
}

// need adds a parameter unless it is there.
func (m *maker) need(p Parameter) Text {
	if !slices.ContainsFunc(m.Parameters, func(x Parameter) bool { return x.Name == p.Name }) {
		m.Parameters = append(m.Parameters, p)
	}
	return Value(p.Name)
}

// tracking makes the policy of target tracking.
func (m *maker) tracking() error {
	if m.f.Sizer == nil {
		return nil
	}
	tracker, ok := m.f.Sizer.(kind.Tracker)
	if !ok {
		return fmt.Errorf("templates have no form for what sizes the fleet %s", m.f.Name)
	}
	p := m.f.Policy
	t := &Tracking{Min: m.f.Limits.Min, Max: m.f.Limits.Max, Moves: p.Name == "dynamic-backlog"}
	switch {
	case p.BySlots():
		t.Target = cmp.Or(p.Target, policy.DefaultTarget)
	case p.Acceptable > 0:
		t.Target = p.Acceptable
	case p.Processing > 0:
		t.Target = m.f.Objective.Latency.Seconds() * float64(m.f.Workers.Slots) / p.Processing.Seconds()
	default:
		m.need(Parameter{"FirstTarget", Number, "The backlog per worker until processing durations are measured: the " +
			"latency objective in seconds x slots / the mean processing duration in seconds", 1, 1_000_000})
	}
	t.Tracking = tracker.Tracking(m.f, t.Target)
	if !t.Published && t.Target == 0 {
		return fmt.Errorf("the fleet %s needs policy.acceptable: with metric: math its first target is part of the "+
			"expression", m.f.Name)
	}
	m.Tracking = t
	return nil
}

// functions makes the functions: those that the scaling policy needs, and one for test load.
func (m *maker) functions() error {
	t := m.Tracking
	if t == nil {
		return nil
	}
	add := func(f Function) {
		f.Name = m.Label() + "-" + f.Does
		// The configuration itself is in the zip, because variables have 4 KB together.
		if f.Does != "send" {
			f.Environment = append(f.Environment, "MUSTER_FLEETS", m.Fleet)
		}
		m.Functions = append(m.Functions, f)
	}
	if t.Published {
		add(Function{Does: "publish-metric", Rate: "rate(1 minute)", Timeout: 30,
			About: "Publishes the metric that the scaling policy tracks."})
	}
	if t.Moves {
		every := max(time.Minute, m.f.Sizer.Delegation().Every.Round(time.Minute))
		add(Function{Does: "set-target", Rate: rate(every), Timeout: 30,
			About: "Moves the target with the mean processing duration."})
	}
	if len(m.Functions) == 0 {
		return nil
	}
	if g := m.Group; g != nil && !g.Hosts && m.Table != "" {
		g.Terminated = true
		// AWS ends the call after two seconds whatever the function has.
		add(Function{Does: "terminate", Timeout: 2, AnsweringGroup: true,
			Environment: []string{"MUSTER_PROTECTED", "instance"},
			About:       "Chooses idle instances when the group scales in; none when in doubt."})
	}
	add(Function{Does: "send", Timeout: 60, Environment: []string{"MUSTER_QUEUE", m.f.Queues[0].URL},
		About: "Sends test messages. Nothing calls it but you."})
	m.FunctionLogs = "/muster/" + m.Label() + "/functions"
	for i := range m.Functions {
		role, err := m.functionRole(m.Functions[i])
		if err != nil {
			return err
		}
		m.Functions[i].Role = role
	}
	m.artefacts()
	m.need(Parameter{"FunctionKey", String, "The key, in that bucket, of muster-lambda's zip for arm64 with your " +
		"configuration in it as muster.yaml", 0, 0})
	board := *m.c
	board.Fleets = []config.Fleet{m.f}
	d, err := dashboard.CloudWatch(&board)
	if err != nil {
		return err
	}
	m.Dashboard, err = widgets(d)
	return err
}

// rate returns the expression of a schedule for whole minutes.
func rate(every time.Duration) string {
	if n := int(every / time.Minute); n > 1 {
		return fmt.Sprintf("rate(%d minutes)", n)
	}
	return "rate(1 minute)"
}

// artefacts adds the parameter of the bucket with the programs.
func (m *maker) artefacts() Text {
	return m.need(Parameter{"ArtefactBucket", String, "The S3 bucket with the programs of a release of Muster", 0, 0})
}

// about says what the stack is, and what runs beside it.
func (m *maker) about() {
	m.About = append(m.About, fmt.Sprintf("The fleet %s in %s of the account %s.", m.Fleet, m.Region, m.Account))
	switch {
	case m.Tracking == nil:
		m.About = append(m.About, "muster up sizes it, on a machine or as a service: see docs/deploy.md.")
	case len(m.Functions) > 0:
		m.About = append(m.About, "AWS sizes it by target tracking. The functions keep metric and target.")
	default:
		m.About = append(m.About, "AWS sizes it by target tracking of what the workers publish. Nothing else runs; "+
			"muster up would publish twice.")
	}
	m.About = append(m.About, "The size has only its limits here, so a new deployment does not set it back.")
}
