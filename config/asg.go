package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/policy"
)

// AWS says how AWS is called, for all fleets together.
type AWS struct {
	// Region is used where nothing names another; empty means that of the SDK's configuration.
	Region string
	// CallsPerSecond is how many calls may be made in a second, 0.1 to 10,000, by default 50; Burst is how many at once, 1 to
	// 10,000, by default 100.
	CallsPerSecond float64
	Burst          int
	// QueueMetrics has ages and rates of queues read from CloudWatch; true by default. What a policy, metrics or delegate name is
	// read in any case.
	QueueMetrics bool
}

// ASG is an EC2 Auto Scaling group that a fleet consists of, in place of processes on this machine. The instances start their
// workers themselves.
type ASG struct {
	// Group is the group's name, 1 to 255 characters. Region is where it is; empty means that of the fleet's queue on SQS, or else
	// of [AWS].
	Group, Region string
	// Launch says how instances are launched: "auto" (the default), "size" or "name". Zone is the one in which they are launched
	// by name.
	Launch, Zone string
	// Protect has instances protected from the group's own scale-in; true by default.
	Protect bool
	// Reports is "required" (the default) where workers report to the controller, "none" where they do not.
	Reports string
	// WarmPool is what is kept prepared; nil leaves the group's warm pool alone.
	WarmPool *WarmPool
}

// WarmPool is how many instances are kept prepared, and how.
type WarmPool struct {
	// Size is 0 to 1000; 0 removes the pool.
	Size int
	// State is "stopped" (the default), "running" or "hibernated".
	State string
	// Reuse has released instances go back into the pool.
	Reuse bool
}

// The values of asg.reports.
const (
	ReportsRequired = "required"
	ReportsNone     = "none"
)

const maxGroupName = 255

func awsKeys() []key {
	return []key{
		{name: "region", kind: kindText, what: "the region where nothing names another; by default that of the AWS tools"},
		{name: "calls_per_second", kind: kindNumber, what: "calls to AWS in a second, of all fleets together: 0.1 to 10000, by default 50"},
		{name: "burst", kind: kindWhole, what: "calls to AWS at once: 1 to 10000, by default 100"},
		{name: "queue_metrics", kind: kindTruth, what: "whether the oldest age and the rates of queues are read from CloudWatch, which has a price for each metric; true by default"},
	}
}

func asgKeys() []key {
	return []key{
		{name: "group", kind: kindText, required: true, what: "the name of the Auto Scaling group"},
		{name: "region", kind: kindText, what: "where the group is; by default where the fleet's queue is"},
		{name: "launch", kind: kindText, enum: launchings(), what: "how instances are launched: by the group's size, by name so that a lack of capacity is known at once, or by name where the group allows it (auto, the default)"},
		{name: "zone", kind: kindText, what: "the zone in which instances are launched by name; by default all of the group's, the emptiest first"},
		{name: "protect", kind: kindTruth, what: "whether instances are protected from the group's own scale-in; true by default"},
		{name: "reports", kind: kindText, enum: reportings(), what: "whether the workers report to the controller: required (the default), or none for workers of your own that protect their instance while they are busy"},
		{name: "warm_pool", kind: kindMapping, of: warmPoolKeys(), what: "instances that are kept prepared; left alone by default"},
	}
}

func warmPoolKeys() []key {
	return []key{
		{name: "size", kind: kindWhole, required: true, what: "how many: 0 to 1000; 0 removes the pool"},
		{name: "state", kind: kindText, enum: warmStates(), what: "how they wait, by default stopped"},
		{name: "reuse", kind: kindTruth, what: "whether released instances go back into the pool; false by default"},
	}
}

func launchings() []string { return []string{"auto", "size", "name"} }
func reportings() []string { return []string{ReportsRequired, ReportsNone} }
func warmStates() []string { return []string{"stopped", "running", "hibernated"} }

func (m mapping) aws(into *AWS) {
	sub := m.sub("aws", names(awsKeys())...)
	sub.text("region", &into.Region)
	sub.number("calls_per_second", &into.CallsPerSecond)
	sub.whole("burst", &into.Burst)
	sub.truth("queue_metrics", &into.QueueMetrics)
}

func (d *decoder) asg(n *yaml.Node, path string) *ASG {
	a := &ASG{}
	m := d.mapping(n, path, names(asgKeys())...)
	m.text("group", &a.Group)
	m.text("region", &a.Region)
	m.text("launch", &a.Launch)
	m.text("zone", &a.Zone)
	m.truth("protect", &a.Protect)
	m.text("reports", &a.Reports)
	if _, ok := m.values["warm_pool"]; ok {
		a.WarmPool = &WarmPool{}
		pool := m.sub("warm_pool", names(warmPoolKeys())...)
		pool.whole("size", &a.WarmPool.Size)
		pool.text("state", &a.WarmPool.State)
		pool.truth("reuse", &a.WarmPool.Reuse)
	}
	return a
}

func (a *ASG) setDefaults(s *source, path string) {
	otherwise(s, path+".launch", &a.Launch, "auto")
	otherwise(s, path+".protect", &a.Protect, true)
	otherwise(s, path+".reports", &a.Reports, ReportsRequired)
	if a.Reports == ReportsNone {
		otherwise(s, path+".protect", &a.Protect, false) // their own workers protect them while they are busy
	}
	if a.WarmPool != nil {
		otherwise(s, path+".warm_pool.state", &a.WarmPool.State, "stopped")
	}
}

func (a AWS) validate(s *source, path string) {
	if c := a.CallsPerSecond; !(c >= 0.1 && c <= 10_000) {
		s.fault(path+".calls_per_second", fmt.Sprintf("found %g, allowed is 0.1 to 10000", c), "")
	}
	within(s, path+".burst", a.Burst, 1, 10_000, strconv.Itoa)
	checkRegion(s, path+".region", a.Region)
}

// validateASG checks the group of a fleet, and that nothing is stated that only processes of this machine have.
func (f *Fleet) validateASG(s *source, path string) {
	a, at := f.ASG, path+".asg"
	if n := len(a.Group); n < 1 || n > maxGroupName {
		s.fault(at+".group", s.missing(at+".group", quote(a.Group), "the name of an Auto Scaling group, 1 to 255 characters"), "")
	}
	checkRegion(s, at+".region", a.Region)
	oneOf(s, at+".launch", a.Launch, launchings())
	oneOf(s, at+".reports", a.Reports, reportings())
	if p := a.WarmPool; p != nil {
		within(s, at+".warm_pool.size", p.Size, 0, 1000, strconv.Itoa)
		oneOf(s, at+".warm_pool.state", p.State, warmStates())
	}
	if a.Reports == ReportsNone && a.Protect {
		s.fault(at+".protect", "found true with reports: none, allowed is false: nobody could say when the protection may end",
			"workers that do not report protect their own instance while they are busy")
	}
	f.validateReports(s, at+".reports", a.Reports)
	f.validateAway(s, path, "asg", "in an Auto Scaling group", "its instances")
}

// validateReports refuses a fleet that can only fall by reports and has none.
func (f *Fleet) validateReports(s *source, path, reports string) {
	leaves := func(p policy.Spec) bool { return p.Name == "exact" }
	if reports == ReportsNone && (leaves(f.Policy) || slices.ContainsFunc(f.Policy.Largest, leaves)) {
		s.fault(path, "found none with the policy exact, allowed is required: its fleets fall when workers say that they are idle", "deadline, the default, needs no reports")
	}
}

// validateAway checks that nothing is stated for a fleet elsewhere that only processes of this machine have.
func (f *Fleet) validateAway(s *source, path, key, where, they string) {
	if s.has(path + ".split") {
		s.fault(path+".split", fmt.Sprintf("found split and %s, allowed is one of them", key), "a group mixes kinds of instances, and a service kinds of capacity, by its own policy")
	}
	for _, k := range workerKeys() {
		if key := path + ".workers." + k.name; s.has(key) && k.name != "slots" && k.name != "boot" {
			s.fault(key, fmt.Sprintf("found %s for a fleet %s, allowed are slots and boot", k.name, where),
				they+" start their workers themselves: put it into their muster work command")
		}
	}
	within(s, path+".workers.slots", f.Workers.Slots, 1, 1000, strconv.Itoa)
	within(s, path+".workers.boot", f.Workers.Boot, 0, day, span)
}

// oneOf adds a fault when the value is none of those.
func oneOf(s *source, path, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		s.fault(path, "found "+quote(value)+", allowed are "+strings.Join(allowed, ", "), Suggest(value, allowed))
	}
}

func checkRegion(s *source, path, region string) {
	if region != "" && (len(region) > 40 || !consists(region, "-") || strings.Count(region, "-") < 2) {
		s.fault(path, "found "+quote(region)+", allowed is a region, as in eu-west-1", "")
	}
}
