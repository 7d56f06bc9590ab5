package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/fleet/delegate"
)

// finding is one line of muster doctor.
type finding struct {
	// Fleet is empty for what concerns all.
	Fleet string `json:"fleet,omitzero"`
	// Check names what was looked at, as in "queue" or "abilities".
	Check string `json:"check"`
	// Level is ok, note, unchecked or wrong.
	Level string `json:"level"`
	Text  string `json:"text"`
}

// The levels of findings.
const (
	levelOK        = "ok"
	levelNote      = "note"
	levelUnchecked = "unchecked"
	levelWrong     = "wrong"
)

// doctorTimeout bounds one look.
const doctorTimeout = 20 * time.Second

func newDoctor(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor -f FILE",
		Short: "Check, by looking alone, what a configuration needs to work",
		Long: `Doctor finds out what can be known before the first write: whether there are credentials and a region, whether
the queues, groups, clusters and services exist and may be looked at, who else sizes them, and what each source and fleet
is able to do. It changes nothing. What only a write could tell, it says.

It ends with 1 when something is wrong.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := g.needFile("doctor"); err != nil {
				return err
			}
			c, err := g.load()
			if err != nil {
				return err
			}
			return showFindings(cmd.OutOrStdout(), g, append(examine(cmd.Context(), c), running(cmd.Context(), g, c)...))
		},
	}
}

// showFindings prints the findings, the problems first: behind many lines that say ok nobody looks for one that does not.
func showFindings(out io.Writer, g *global, all []finding) error {
	wrong := 0
	for _, f := range all {
		if f.Level == levelWrong {
			wrong++
		}
	}
	if g.json() {
		if err := printJSON(out, map[string]any{"findings": all, "wrong": wrong}); err != nil {
			return err
		}
	} else {
		for _, level := range []string{levelWrong, levelUnchecked, levelNote, levelOK} {
			printFindings(out, all, level)
		}
	}
	if wrong > 0 {
		return &exitError{exitFailed, fmt.Errorf("doctor: %s found", muster.Plural(wrong, "problem"))}
	}
	return nil
}

// printFindings prints the findings of one level, one line each.
func printFindings(out io.Writer, all []finding, level string) {
	for _, f := range all {
		if f.Level != level {
			continue
		}
		where := f.Check
		if f.Fleet != "" {
			where = f.Fleet + " " + f.Check
		}
		fmt.Fprintf(out, "%-9s  %s: %s\n", f.Level, where, f.Text)
	}
}

// exam is one examination.
type exam struct {
	aws *app.AWS
	all []finding
}

func (e *exam) find(fleet, check, level, format string, args ...any) {
	e.all = append(e.all, finding{fleet, check, level, fmt.Sprintf(format, args...)})
}

// result notes what came of a look.
func (e *exam) result(fleet, check string, err error, format string, args ...any) bool {
	if err != nil {
		e.find(fleet, check, levelWrong, "%v", err)
		return false
	}
	e.find(fleet, check, levelOK, format, args...)
	return true
}

// examine looks at everything that a configuration names.
func examine(ctx context.Context, c *config.Config) []finding {
	e := &exam{aws: app.NewAWS(c.AWS), all: []finding{}}
	if slices.ContainsFunc(c.Fleets, func(f config.Fleet) bool {
		return f.OnAWS() || slices.ContainsFunc(app.Kinds(f), func(p config.Part) bool { return p.Workers.OnAWS() })
	}) {
		e.account(ctx, c)
	}
	e.programs(c)
	for _, f := range c.Fleets {
		e.fleet(ctx, f)
	}
	return e.all
}

// programs looks for the programs of the fleets that run on this machine: each one that is missing is a finding of its own.
func (e *exam) programs(c *config.Config) {
	err := config.CheckCommands(c, exec.LookPath)
	if faults, ok := errors.AsType[config.Faults](err); ok {
		for _, f := range faults {
			e.find("", "programs", levelWrong, "%s", f.String())
		}
		return
	}
	if slices.ContainsFunc(c.Fleets, func(f config.Fleet) bool { return !f.Away() }) || err != nil {
		e.result("", "programs", err, "every program that a fleet runs is there")
	}
}

// account looks for credentials and a region, without calling anything of AWS but what the credentials themselves need.
func (e *exam) account(ctx context.Context, c *config.Config) {
	ctx, stop := context.WithTimeout(ctx, doctorTimeout)
	defer stop()
	account, err := e.aws.Account(ctx)
	if err != nil {
		e.find("", "credentials", levelWrong, "%v", err)
		return
	}
	cfg, err := account.Region("")
	if err != nil {
		e.find("", "region", levelNote, "%v; what states its own, or has it in a queue's URL, needs none", err)
		if cfg, err = account.Region("us-east-1"); err != nil { // for the credentials any will do
			return
		}
	} else {
		e.find("", "region", levelOK, "%s, where nothing names another", cfg.Region)
	}
	keys, err := cfg.Credentials.Retrieve(ctx)
	if !e.result("", "credentials", err, "found by %s", keys.Source) {
		return
	}
	if left := time.Until(keys.Expires); keys.CanExpire && left < 0 {
		e.find("", "credentials", levelWrong, "they expired %s ago: renew them", muster.Seconds((-left).Round(time.Second).Seconds()))
	}
}

// fleet looks at the queues and the members of one fleet.
func (e *exam) fleet(ctx context.Context, f config.Fleet) {
	ctx, stop := context.WithTimeout(ctx, doctorTimeout)
	defer stop()
	e.queues(ctx, f)
	e.metrics(ctx, f)
	if !f.Away() {
		e.find(f.Name, "members", levelOK, "processes of this machine")
		e.find(f.Name, "abilities", levelOK, "Releaser")
		return
	}
	var o controller.LoopOptions
	group, err := e.aws.Members(ctx, f, &o)
	if err != nil {
		e.find(f.Name, "members", levelWrong, "%v", err)
		return
	}
	l, err := o.Fleet.Members(ctx)
	if !e.result(f.Name, "members", err, "%s", describe(f)) {
		return
	}
	living := 0
	for _, m := range l.Members {
		if !m.Ended {
			living++
		}
	}
	e.find(f.Name, "members", levelOK, "%d there", living)
	if living > f.Limits.Max {
		e.find(f.Name, "max", levelWrong, "%d are there and max is %d: those that are idle would go until no more are left; raise max if that is not meant", living, f.Limits.Max)
	}
	if l.Service != nil {
		for _, note := range l.Service.Notes {
			e.find(f.Name, "note", noteLevel(note), "%s", note)
		}
	}
	e.find(f.Name, "abilities", levelOK, "%s", strings.Join(abilities(o, group != nil), ", "))
	e.reports(ctx, f)
	e.owners(ctx, f, o)
	e.cooldowns(ctx, f, o)
	e.find(f.Name, "permissions", levelUnchecked, "%s: only a write could tell; docs/aws.md lists them", strings.Join(writes(f), ", "))
}

// noteLevel tells whether a note stands in the way of sizing at all.
func noteLevel(note string) string {
	if strings.Contains(note, "operates the group") || strings.Contains(note, "cannot be sized") || strings.Contains(note, "launching is suspended") {
		return levelWrong
	}
	return levelNote
}

// queues measures the queues once.
func (e *exam) queues(ctx context.Context, f config.Fleet) {
	for _, q := range f.Queues {
		if q.URL == "" {
			e.find(f.Name, "queue", levelOK, "%s is embedded in muster up", q.Name)
			continue
		}
		source, err := e.aws.Queue(ctx, f, q.URL)
		if err != nil {
			e.find(f.Name, "queue", levelWrong, "%v", err)
			continue
		}
		o, err := source.Observe(ctx)
		if err == nil {
			err = unseen(q.Name, o)
		}
		e.result(f.Name, "queue", err, "%s has a backlog of %s and %s in flight; it can wake the loop (Notifier, Expecter)", q.Name, shown(o.Backlog), shown(o.InFlight))
		if err == nil && !o.OldestAge.Known && !o.OldestAge.Doubted && o.OldestAge.Reason != "" {
			e.find(f.Name, "queue", levelNote, "the age of its oldest message is unknown: %s", o.OldestAge.Reason)
		}
	}
}

// unseen is an error when a queue answers and does not say what it holds: nothing would be scaled in.
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

// shown is a count, or that it is empty as far as one look tells.
func shown(s muster.Sample) string {
	if s.Doubted {
		return "0"
	}
	return s.String()
}

// describe says what a fleet consists of.
func describe(f config.Fleet) string {
	switch {
	case f.ASG != nil:
		return "the Auto Scaling group " + f.ASG.Group
	case f.ECS.Service != "":
		return fmt.Sprintf("the service %s of the cluster %s", f.ECS.Service, f.ECS.Cluster)
	}
	return fmt.Sprintf("tasks of %s in the cluster %s", f.ECS.TaskDefinition, f.ECS.Cluster)
}

// abilities are what a fleet can do beyond being listed and sized.
func abilities(o controller.LoopOptions, warm bool) []string {
	var all []string
	for _, a := range []struct {
		name string
		has  bool
	}{
		{"Releaser", o.Releaser != nil}, {"Protector", o.Protector != nil}, {"Trimmer", o.Trimmer != nil}, {"WarmPool", warm},
		{"Expecter", len(o.Expecters) > 0}, {"Delegator", o.Delegator != nil},
	} {
		if a.has {
			all = append(all, a.name)
		}
	}
	return all
}

// owners looks for who else sizes a fleet.
func (e *exam) owners(ctx context.Context, f config.Fleet, o controller.LoopOptions) {
	owned, ok := o.Fleet.(interface {
		Owners(context.Context) ([]string, error)
	})
	if !ok {
		return
	}
	owners, err := owned.Owners(ctx)
	if err != nil {
		e.find(f.Name, "owners", levelUnchecked, "%v", err)
		return
	}
	ours := delegate.PolicyName(f.Name)
	others := slices.DeleteFunc(slices.Clone(owners), func(name string) bool { return f.Delegate != nil && name == ours })
	switch {
	case len(others) > 0 && f.Delegate == nil:
		e.find(f.Name, "owners", levelWrong, "the scaling policy %s sizes it too: two who set one number undo each other; delete or disable the policy, or leave the size to AWS with delegate", strings.Join(others, ", "))
	case len(others) > 0:
		e.find(f.Name, "owners", levelNote, "the scaling policy %s sizes it too: AWS rises when any policy wants to, and falls when all do", strings.Join(others, ", "))
	default:
		e.find(f.Name, "owners", levelOK, "nobody else sizes it")
	}
}

// writes are the permissions that no look can prove.
func writes(f config.Fleet) []string {
	var all []string
	switch {
	case f.Delegate != nil && f.ASG != nil:
		all = append(all, "autoscaling:PutScalingPolicy")
	case f.Delegate != nil:
		all = append(all, "application-autoscaling:RegisterScalableTarget", "application-autoscaling:PutScalingPolicy")
	case f.ASG != nil:
		all = append(all, "autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup", "autoscaling:SetInstanceProtection", "autoscaling:LaunchInstances")
	case f.ECS.Service != "":
		all = append(all, "ecs:UpdateService", "ecs:UpdateTaskProtection")
	default:
		all = append(all, "ecs:RunTask", "ecs:StopTask", "iam:PassRole")
	}
	if f.ECS != nil && f.ECS.Capacity != nil && f.Delegate == nil {
		all = append(all, "autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup")
	}
	if f.ASG != nil && f.ASG.WarmPool != nil {
		all = append(all, "autoscaling:PutWarmPool", "autoscaling:DeleteWarmPool")
	}
	if f.Delegate != nil {
		all = append(all, "cloudwatch:PutMetricData")
	}
	return all
}
