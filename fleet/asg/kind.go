package asg

import (
	"context"
	"strings"
	"time"

	"github.com/muster-scale/muster/awsrules/warmpool"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/kind"
)

// Config is the EC2 Auto Scaling group of a fleet. Its instances start their own workers.
type Config struct {
	// Group is the group's name, 1 to 255 characters. Region is its region; empty means that of the fleet's queue on
	// SQS, or else of the account.
	Group, Region string
	// Launch says how instances are launched: "auto" (the default), "size" or "name". Zone is the zone for launches by
	// name.
	Launch, Zone string
	// Protect protects instances from the group's own scale-in; true by default.
	Protect bool
	// Reports is "required" (the default) if workers report to the controller, else "none".
	Reports string
	// WarmPool configures the group's warm pool; nil leaves it as it is.
	WarmPool *WarmPool
}

// WarmPool is the number and state of instances that are kept prepared.
type WarmPool struct {
	// Size is 0 to 1000; 0 removes the pool.
	Size int
	// State is "stopped" (the default), "running" or "hibernated".
	State string
	// Reuse returns released instances to the pool.
	Reuse bool
}

// prepareTimeout bounds the changes to a group's warm pool before its fleet is sized.
const prepareTimeout = time.Minute

// Kind is the row of the kind.
func Kind() kind.MembersRow {
	return kind.MembersRow{
		Key: "asg", What: "an EC2 Auto Scaling group whose instances are the fleet, instead of processes on this " +
			"machine",
		New:      func() kind.Members { return &Config{} },
		Adapters: []kind.Adapter{kind.AdapterFor[*Fleet]("EC2 Auto Scaling groups")},
	}
}

// Keys implements [config.Members].
func (c *Config) Keys() []keys.Key {
	return []keys.Key{
		keys.Text("group", &c.Group, "the name of the Auto Scaling group").Required().Must(config.AGroup,
			config.IsGroup),
		keys.Text("region", &c.Region,
			"where the group is; by default where the fleet's queue is").Check(config.CheckRegion),
		keys.Text("launch", &c.Launch, "how instances are launched: by the group's size, by name so that a lack of "+
			"capacity is known at once, or by name where the group allows it (auto, the default)").
			Default(string(Auto)).OneOf(string(Auto), string(BySize), string(ByName)),
		keys.Text("zone", &c.Zone, "the zone in which instances are launched by name; by default all of the group's, "+
			"the emptiest first"),
		keys.Truth("protect", &c.Protect, "whether instances are protected from the group's own scale-in; true by "+
			"default").
			DefaultOf(func() bool { return c.Reports != config.ReportsNone }).Check(c.checkProtect),
		config.ReportsKey(&c.Reports, "instance"),
		keys.Optional("warm_pool", &c.WarmPool, (*WarmPool).keys, "instances that are kept prepared; unchanged by "+
			"default"),
	}
}

func (w *WarmPool) keys() []keys.Key {
	return []keys.Key{
		keys.Whole("size", &w.Size, "how many: 0 to 1000; 0 removes the pool").Required().Within(0, 1000),
		keys.Text("state", &w.State, "how they wait, by default stopped").Default("stopped").OneOf("stopped", "running",
			"hibernated"),
		keys.Truth("reuse", &w.Reuse, "whether released instances go back into the pool; false by default"),
	}
}

// checkProtect refuses protection without reports: nothing would tell Muster that an instance is idle, so none would
// ever lose its protection.
func (c *Config) checkProtect(s *keys.Source, path string, protect bool) {
	if c.Reports == config.ReportsNone && protect {
		s.Fault(path, "found true with reports: none, allowed is false: without reports it is unknown "+
			"when the protection may end",
			"workers that do not report protect their own instance while they are busy")
	}
}

// Facts implements [config.Members].
func (c *Config) Facts() config.Facts {
	reported := c.Reports == config.ReportsRequired
	return config.Facts{
		Key: "asg", Reported: reported, Answered: reported, Protected: c.Protect, Region: c.Region, Remote: true,
		Sized:   config.Sized{Key: "asg.group", What: "group", Name: c.Group},
		Tracked: config.Tracked{Group: c.Group}, Boot: 2 * time.Minute,
	}
}

// Check implements [config.Members].
func (c *Config) Check(s *keys.Source, at string, f *config.Fleet) {
	f.CheckReports(s, at+".reports", c.Reports)
	f.CheckElsewhere(s, at, "in an Auto Scaling group", "its instances")
}

// Describe implements [kind.Members].
func (c *Config) Describe() string { return "the Auto Scaling group " + c.Group }

// World implements [kind.Members]. It assumes half a second for a call to the service. For an instance from a warm pool
// it assumes the time of its start, and ten seconds until the worker takes messages; three where the operating system
// runs already. docs/simulation.md says how to change that.
func (c *Config) World() kind.World {
	w := kind.World{Order: 500 * time.Millisecond}
	if p := c.WarmPool; p != nil {
		running := p.State == "running"
		w.Warm, w.WarmBoot = p.Size, warmpool.Start(running)+10*time.Second
		if running {
			w.WarmBoot = warmpool.Start(running) + 3*time.Second
		}
	}
	if c.Reports == config.ReportsNone {
		w.Silent = true
	}
	return w
}

// Writes implements [kind.Members].
func (c *Config) Writes(delegated bool) []string {
	return kind.WritesOf(c.permissions("", delegated), kind.ModeUp)
}

// Permissions implements [kind.Permitted]. Instances that do not report may protect themselves, so their workers may.
func (c *Config) Permissions(at kind.Place, f config.Fleet) []kind.Permission {
	group := GroupARN(at, kind.HomeOf(f), c.Group)
	all := c.permissions(group, f.Sizer != nil)
	if c.Reports == config.ReportsNone {
		work := []kind.Mode{kind.ModeWork}
		all = append(all, kind.Allow(work, nil, "autoscaling:DescribeAutoScalingInstances")...)
		all = append(all, kind.AllowWrites(work, []string{group}, "autoscaling:SetInstanceProtection")...)
	}
	return all
}

// GroupARN returns the ARN of the named group. The identifier in the middle is unknown, and the name is unique in its
// region.
func GroupARN(at kind.Place, region, name string) string {
	return at.ARN("autoscaling", region, "autoScalingGroup:*:autoScalingGroupName/"+name)
}

// ReadPermissions are those for reading any group: IAM cannot restrict them. Only a controller looks for the reasons of
// failed launches, because only it has ordered some.
func ReadPermissions() []kind.Permission {
	return append(kind.Allow(kind.Reading(), nil, "autoscaling:DescribeAutoScalingGroups",
		"autoscaling:DescribeInstanceRefreshes", "autoscaling:DescribeWarmPool"),
		kind.Allow([]kind.Mode{kind.ModeUp}, nil, "autoscaling:DescribeScalingActivities")...)
}

// permissions returns what Muster itself needs on the group with this ARN.
func (c *Config) permissions(group string, delegated bool) []kind.Permission {
	up, on := []kind.Mode{kind.ModeUp}, []string{group}
	all := append(ReadPermissions(), kind.Allow([]kind.Mode{kind.ModeDoctor}, nil, "autoscaling:DescribePolicies")...)
	if !delegated {
		all = append(all, kind.AllowWrites(up, on, "autoscaling:SetDesiredCapacity",
			"autoscaling:TerminateInstanceInAutoScalingGroup", "autoscaling:SetInstanceProtection",
			"autoscaling:LaunchInstances")...)
	}
	if c.WarmPool != nil {
		all = append(all, kind.AllowWrites(up, on, "autoscaling:PutWarmPool", "autoscaling:DeleteWarmPool")...)
	}
	return all
}

// GroupsOf returns the groups that all fleets of a host share.
func GroupsOf(ctx context.Context, h *kind.Host) (*Groups, error) {
	return kind.SharedOnAWS(ctx, h, NewGroups)
}

// poolState returns the state of a warm pool as the API names it.
func poolState(state string) string {
	return strings.ToUpper(state[:min(1, len(state))]) + state[min(1, len(state)):]
}

// Open implements [kind.Members].
func (c *Config) Open(ctx context.Context, h *kind.Host, f config.Fleet, _ *kind.Ports) (*kind.Ports, error) {
	groups, err := GroupsOf(ctx, h)
	if err != nil {
		return nil, err
	}
	o := Options{
		Group: c.Group, Region: kind.HomeOf(f), Min: f.Limits.Min, Max: f.Limits.Max, Launch: Launching(c.Launch),
		Zone:    c.Zone,
		Protect: c.Protect, Every: f.Poll,
	}
	if p := c.WarmPool; p != nil && p.State != "" {
		o.Warm = Warm{State: poolState(p.State), Reuse: p.Reuse}
	}
	group, err := groups.Fleet(o)
	if err != nil {
		return nil, err
	}
	ports := &kind.Ports{Fleet: group, Releaser: group, Protector: group, Expecter: group, Prepares: true}
	if c.WarmPool != nil {
		ports.Prepare = func(ctx context.Context) error {
			ctx, stop := context.WithTimeout(ctx, prepareTimeout)
			defer stop()
			return group.SetWarm(ctx, c.WarmPool.Size)
		}
	}
	return ports, nil
}
