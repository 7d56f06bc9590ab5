package containers

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
)

// Groups is what ECS knows of the groups whose instances it places tasks on.
type Groups interface {
	// Group finds a group by its name or ARN.
	Group(nameOrARN string) (Group, bool)
	// Resize sets the desired capacity of a group, by its name.
	Resize(group string, desired int)
	// Protect protects an instance in service from scale-in, or takes that back.
	Protect(instance string, on bool)
}

// Group is a group as ECS knows it.
type Group struct {
	Name              string
	Min, Max, Desired int
	// Weighted tells that its instances have weights, Protects that new ones are protected from scale-in.
	Weighted, Protects bool
	// Serving are its instances in service.
	Serving []Host
}

// Host is an instance in service as ECS knows it.
type Host struct {
	ID, Zone string
	// Group is the name of its group, GroupARN its ARN.
	Group, GroupARN string
	// Serves tells whether it has been in service since.
	Serves func() bool
}

// host is an instance of a group that is registered in a cluster.
type host struct {
	arn          string
	instance     Host
	provider     string
	status       string
	cpu, memory  int // what is left
	tasks        int
	registeredAt time.Time
	images       map[string]bool // task definitions whose image is there
}

func (p *CapacityProvider) managed() bool {
	s := p.AutoScalingGroupProvider.ManagedScaling
	return s != nil && s.Status == "ENABLED"
}

// CreateCapacityProvider ties a group to ECS.
func (w *ECS) CreateCapacityProvider(in CreateProvider) (OneProvider, error) {
	switch {
	case in.Name == "" || in.AutoScalingGroupProvider == nil:
		return OneProvider{}, ecsFault("ClientException", "A capacity provider of the model needs a name and an Auto "+
			"Scaling group.")
	case w.providers[in.Name] != nil || in.Name == Fargate || in.Name == FargateSpot:
		return OneProvider{}, ecsFault("ClientException", "The specified capacity provider already exists.")
	case len(w.providers) >= MaxProviders:
		return OneProvider{}, ecsFault("LimitExceededException", "The model keeps at most %d capacity providers.",
			MaxProviders)
	}
	p := &CapacityProvider{Name: in.Name, CapacityProviderArn: w.acc.ARN("ecs", "capacity-provider/"+in.Name),
		Status: "ACTIVE", Type: "EC2_AUTOSCALING",
		AutoScalingGroupProvider: &GroupProvider{AutoScalingGroupArn: in.AutoScalingGroupProvider.AutoScalingGroupArn}}
	if err := w.shape(p, *in.AutoScalingGroupProvider); err != nil {
		return OneProvider{}, err
	}
	w.providers[in.Name] = p
	return OneProvider{*p}, nil
}

// UpdateCapacityProvider changes how a group is tied to ECS.
func (w *ECS) UpdateCapacityProvider(in CreateProvider) (OneProvider, error) {
	p := w.providers[in.Name]
	if p == nil || in.AutoScalingGroupProvider == nil {
		return OneProvider{}, ecsFault("ClientException", "The specified capacity provider does not exist. Specify a "+
			"valid name or ARN and try again.")
	}
	if err := w.shape(p, *in.AutoScalingGroupProvider); err != nil {
		return OneProvider{}, err
	}
	return OneProvider{*p}, nil
}

// shape checks and takes over what is given.
func (w *ECS) shape(p *CapacityProvider, in GroupProvider) error {
	a := *p.AutoScalingGroupProvider
	if m := in.ManagedScaling; m != nil {
		target, least, most := account.Or(m.TargetCapacity, 100), account.Or(m.MinimumScalingStepSize, 1),
			account.Or(m.MaximumScalingStepSize,
				10_000)
		if target < 1 || target > 100 || least < 1 || most < least || most > 10_000 {
			return ecsFault("ClientException", "targetCapacity must be from 1 to 100 and the scaling steps from 1 to "+
				"10000, in order.")
		}
		a.ManagedScaling = &ManagedScaling{cmp.Or(m.Status, "ENABLED"), &target, &least, &most,
			account.Ptr(account.Or(m.InstanceWarmupPeriod, 300))}
	}
	a.ManagedTerminationProtection = cmp.Or(in.ManagedTerminationProtection, a.ManagedTerminationProtection, "DISABLED")
	a.ManagedDraining = cmp.Or(in.ManagedDraining, a.ManagedDraining, "ENABLED")
	shaped := &CapacityProvider{AutoScalingGroupProvider: &a}
	g, found := w.groups.Group(a.AutoScalingGroupArn)
	switch {
	case !found:
		return ecsFault("ClientException", "The specified Auto Scaling group ARN is not valid.")
	case g.Weighted:
		return ecsFault("ClientException", "An Auto Scaling group with instance weights cannot be a capacity provider.")
	case a.ManagedTerminationProtection == "ENABLED" && !shaped.managed():
		return ecsFault("ClientException", "Managed termination protection needs managed scaling.")
	case a.ManagedTerminationProtection == "ENABLED" && !g.Protects:
		return ecsFault("ClientException", "Managed termination protection needs an Auto Scaling group whose new "+
			"instances are protected from scale in.")
	}
	p.AutoScalingGroupProvider = &a
	return nil
}

// DescribeCapacityProviders shows capacity providers, those of Fargate among them.
func (w *ECS) DescribeCapacityProviders(in ProviderNames) (ProviderList, error) {
	all := []CapacityProvider{
		{Name: Fargate, CapacityProviderArn: w.acc.ARN("ecs", "capacity-provider/"+Fargate), Status: "ACTIVE",
			Type: Fargate},
		{Name: FargateSpot, CapacityProviderArn: w.acc.ARN("ecs", "capacity-provider/"+FargateSpot), Status: "ACTIVE",
			Type: FargateSpot},
	}
	for _, name := range account.Sorted(w.providers) {
		all = append(all, *w.providers[name])
	}
	var out ProviderList
	for _, name := range in.CapacityProviders {
		if !slices.ContainsFunc(all, func(p CapacityProvider) bool { return p.Name == last(name) }) {
			out.Failures = append(out.Failures, Failure{Arn: name, Reason: "MISSING"})
		}
	}
	if len(in.CapacityProviders) > 0 {
		all = slices.DeleteFunc(all, func(p CapacityProvider) bool {
			return !slices.ContainsFunc(in.CapacityProviders, func(n string) bool { return last(n) == p.Name })
		})
	}
	var err error
	out.CapacityProviders, out.NextToken, err = account.Page(all, in.NextToken, min(max(account.Or(in.MaxResults, 10),
		1), 100))
	return out, err
}

// PutClusterCapacityProviders says which providers a cluster has. Instances of their groups that are in service join
// it.
func (w *ECS) PutClusterCapacityProviders(in ClusterProviders) (OneCluster, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return OneCluster{}, err
	}
	for _, name := range in.CapacityProviders {
		if name != Fargate && name != FargateSpot && w.providers[name] == nil {
			return OneCluster{}, invalidParameter("The specified capacity provider %s was not found.", name)
		}
	}
	for _, p := range in.DefaultCapacityProviderStrategy {
		if !slices.Contains(in.CapacityProviders, p.CapacityProvider) {
			return OneCluster{}, invalidParameter("The default strategy names %s, which is none of the cluster's "+
				"capacity providers.", p.CapacityProvider)
		}
	}
	c.CapacityProviders, c.DefaultCapacityProviderStrategy = slices.Clone(in.CapacityProviders),
		slices.Clone(in.DefaultCapacityProviderStrategy)
	var serving []Host
	for _, name := range account.Sorted(w.providers) {
		if g, found := w.groups.Group(w.providers[name].AutoScalingGroupProvider.AutoScalingGroupArn); found {
			serving = append(serving, g.Serving...)
		}
	}
	slices.SortFunc(serving, func(a, b Host) int { return cmp.Compare(a.ID, b.ID) })
	for _, h := range slices.CompactFunc(serving, func(a, b Host) bool { return a.ID == b.ID }) {
		w.Join(h)
	}
	return OneCluster{c.show()}, nil
}

// Join registers an instance in the cluster whose provider its group is, after a while.
func (w *ECS) Join(i Host) {
	for _, name := range account.Sorted(w.clusters) {
		c := w.clusters[name]
		for _, n := range c.CapacityProviders {
			p := w.providers[n]
			if p == nil || !p.gives(i) {
				continue
			}
			w.acc.After(w.acc.Around("tasks", w.settings.Join, w.settings.Spread), func() {
				if i.Serves() && w.hostOf(i.ID) == nil {
					w.register(c, i, n)
				}
			})
			return
		}
	}
}

// gives tells whether an instance is of the provider's group.
func (p *CapacityProvider) gives(i Host) bool {
	arn := p.AutoScalingGroupProvider.AutoScalingGroupArn
	return arn == i.Group || arn == i.GroupARN
}

func (w *ECS) register(c *cluster, i Host, provider string) {
	h := &host{arn: w.acc.ARN("ecs", "container-instance/"+c.ClusterName+"/"+w.acc.ID(32)), instance: i,
		provider: provider, status: "ACTIVE", cpu: w.settings.HostCPU, memory: w.settings.HostMemoryMiB,
		registeredAt: w.acc.Now(), images: map[string]bool{}}
	c.hosts = append(c.hosts, h)
	w.acc.Tell("aws.ecs", "ECS Container Instance State Change", h.arn, "ACTIVE")
	w.shieldHost(h)
	w.placeWaiting(c)
	for _, name := range account.Sorted(c.services) {
		w.attend(c.services[name])
	}
}

func (w *ECS) hostOf(instance string) *host {
	for _, name := range account.Sorted(w.clusters) {
		for _, h := range w.clusters[name].hosts {
			if h.instance.ID == instance {
				return h
			}
		}
	}
	return nil
}

// Leave takes an instance out of its cluster; the tasks on it are gone with it.
func (w *ECS) Leave(instance string) {
	for _, name := range account.Sorted(w.clusters) {
		c := w.clusters[name]
		k := slices.IndexFunc(c.hosts, func(h *host) bool { return h.instance.ID == instance })
		if k < 0 {
			continue
		}
		h := c.hosts[k]
		c.hosts = slices.Delete(c.hosts, k, k+1)
		w.acc.Tell("aws.ecs", "ECS Container Instance State Change", h.arn, "INACTIVE")
		for _, t := range slices.Clone(c.tasks) {
			if t.host == h && t.LastStatus != Stopped {
				t.host = nil
				t.StopCode, t.StoppedReason = cmp.Or(t.StopCode, "InfrastructureHealth"), cmp.Or(t.StoppedReason,
					"Host EC2 (instance "+instance+") terminated.")
				w.stopped(t)
			}
		}
	}
}

// placeOnHost puts a task on an instance that has room: with binpack where least is left, otherwise where most is.
func (w *ECS) placeOnHost(t *task, provider string) string {
	binpack := slices.ContainsFunc(t.strategy, func(p PlacementStrategy) bool { return p.Type == "binpack" })
	var best *host
	cpu, memory := false, false
	for _, h := range t.cluster.hosts {
		if h.status != "ACTIVE" || provider != "" && h.provider != provider {
			continue
		}
		cpu, memory = cpu || h.cpu >= t.cpu, memory || h.memory >= t.memory
		if h.cpu < t.cpu || h.memory < t.memory {
			continue
		}
		if best == nil || binpack && h.memory < best.memory || !binpack && h.memory > best.memory {
			best = h
		}
	}
	switch {
	case best == nil && cpu && !memory:
		return "RESOURCE:MEMORY"
	case best == nil:
		return "RESOURCE:CPU"
	}
	best.cpu, best.memory = best.cpu-t.cpu, best.memory-t.memory
	best.tasks++
	t.host, t.waits = best, false
	t.ContainerInstanceArn, t.AvailabilityZone = best.arn, best.instance.Zone
	w.shieldHost(best)
	if best.images[t.TaskDefinitionArn] {
		w.pull(t, time.Nanosecond) // the image is there
		return ""
	}
	best.images[t.TaskDefinitionArn] = true
	w.pull(t, w.settings.HostPull)
	return ""
}

// placeWaiting gives tasks that wait for an instance another try, the oldest first.
func (w *ECS) placeWaiting(c *cluster) {
	for _, t := range slices.Clone(c.tasks) {
		if t.waits && t.DesiredStatus == Running {
			w.placeOnHost(t, t.CapacityProviderName)
		}
	}
}

// shieldHost protects an instance from scale-in while it has tasks, where the provider has managed termination
// protection.
func (w *ECS) shieldHost(h *host) {
	p := w.providers[h.provider]
	if p != nil && p.AutoScalingGroupProvider.ManagedTerminationProtection == "ENABLED" {
		w.groups.Protect(h.instance.ID, h.tasks > 0)
	}
}

// lowPoints is how many one-minute points below its target make a provider scale in.
const lowPoints = 15

// scaleProviders publishes CapacityProviderReservation and sizes the groups whose scaling is managed: out at the first
// point above the target, in after 15 points below it, by half of the group at most.
func (w *ECS) scaleProviders(c *cluster) {
	for _, name := range c.CapacityProviders {
		p := w.providers[name]
		if p == nil || !p.managed() {
			continue
		}
		g, found := w.groups.Group(p.AutoScalingGroupProvider.AutoScalingGroupArn)
		if !found {
			continue
		}
		needed, have := w.neededHosts(c, name), len(g.Serving)
		reservation := 100.0
		switch {
		case have == 0 && needed > 0:
			reservation = 200
		case have > 0:
			reservation = 100 * float64(needed) / float64(have)
		}
		w.publish("AWS/ECS/ManagedScaling", "CapacityProviderReservation", reservation,
			"CapacityProviderName", name, "ClusterName", c.ClusterName)
		m := p.AutoScalingGroupProvider.ManagedScaling
		wanted := (needed*100 + *m.TargetCapacity - 1) / *m.TargetCapacity
		if c.lows[name]++; reservation >= float64(*m.TargetCapacity) {
			c.lows[name] = 0
		}
		switch {
		case wanted > g.Desired:
			step := min(max(wanted-g.Desired, *m.MinimumScalingStepSize), *m.MaximumScalingStepSize)
			w.groups.Resize(g.Name, min(g.Desired+step, g.Max))
		case wanted < g.Desired && c.lows[name] >= lowPoints:
			w.groups.Resize(g.Name, max(wanted, g.Desired-max(g.Desired/2, 1), g.Min))
		}
	}
}

// neededHosts is how many instances the tasks of a provider take: those that have tasks, and those that the waiting
// ones need.
func (w *ECS) neededHosts(c *cluster, provider string) int {
	n, cpu, memory := 0, 0, 0
	for _, h := range c.hosts {
		if h.provider == provider && h.tasks > 0 {
			n++
		}
	}
	for _, t := range c.tasks {
		if t.waits && t.CapacityProviderName == provider && t.DesiredStatus == Running {
			cpu, memory = cpu+t.cpu, memory+t.memory
		}
	}
	s := w.settings
	return n + max((cpu+s.HostCPU-1)/s.HostCPU, (memory+s.HostMemoryMiB-1)/s.HostMemoryMiB)
}

// ListContainerInstances lists the ARNs of a cluster's instances.
func (w *ECS) ListContainerInstances(in ListHosts) (HostArns, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return HostArns{}, err
	}
	var all []string
	for _, h := range c.hosts {
		if in.Status == "" || in.Status == h.status {
			all = append(all, h.arn)
		}
	}
	n := account.Or(in.MaxResults, 100)
	if n < 1 || n > 100 {
		return HostArns{}, invalidParameter("maxResults %d must be from 1 to 100.", n)
	}
	arns, next, err := account.Page(all, in.NextToken, n)
	return HostArns{arns, next}, err
}

// DescribeContainerInstances shows up to 100 instances of a cluster.
func (w *ECS) DescribeContainerInstances(in HostNames) (HostList, error) {
	return w.hosts(in, 100, func(*host) {})
}

// UpdateContainerInstancesState sets up to ten instances to ACTIVE or DRAINING. Tasks of services leave a draining
// instance as soon as their service can start others, unless they are protected; tasks of their own stay.
func (w *ECS) UpdateContainerInstancesState(in HostNames) (HostList, error) {
	if in.Status != "ACTIVE" && in.Status != "DRAINING" {
		return HostList{}, invalidParameter("status '%s' must be ACTIVE or DRAINING.", in.Status)
	}
	return w.hosts(in, 10, func(h *host) {
		h.status = in.Status
		if h.status != "DRAINING" {
			return
		}
		for _, t := range slices.Clone(w.clusters[last(cmp.Or(in.Cluster, "default"))].tasks) {
			if t.host == h && t.service != nil && !t.protected(w.acc.Now()) {
				w.stop(t, "ServiceSchedulerInitiated", "The container instance is draining.")
			}
		}
	})
}

func (w *ECS) hosts(in HostNames, most int, change func(*host)) (HostList, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return HostList{}, err
	}
	if n := len(in.ContainerInstances); n < 1 || n > most {
		return HostList{}, invalidParameter("1 to %d container instances may be given, got %d.", most, n)
	}
	var out HostList
	for _, arn := range in.ContainerInstances {
		k := slices.IndexFunc(c.hosts, func(h *host) bool { return last(h.arn) == last(arn) })
		if k < 0 {
			out.Failures = append(out.Failures, Failure{Arn: arn, Reason: "MISSING"})
			continue
		}
		change(c.hosts[k])
		out.ContainerInstances = append(out.ContainerInstances, c.hosts[k].show(c, w.settings))
	}
	return out, nil
}

func (h *host) show(c *cluster, t Tasks) ContainerInstance {
	of := func(cpu, memory int) []Resource {
		return []Resource{{"CPU", "INTEGER", cpu}, {"MEMORY", "INTEGER", memory}}
	}
	s := ContainerInstance{ContainerInstanceArn: h.arn, Ec2InstanceId: h.instance.ID, CapacityProviderName: h.provider,
		Status:         h.status,
		AgentConnected: true, RegisteredAt: h.registeredAt, RegisteredResources: of(t.HostCPU,
			t.HostMemoryMiB), RemainingResources: of(h.cpu, h.memory)}
	for _, x := range c.tasks {
		switch {
		case x.host != h || x.LastStatus == Stopped:
		case x.LastStatus == TaskPending || x.LastStatus == Activating:
			s.PendingTasksCount++
		default:
			s.RunningTasksCount++
		}
	}
	return s
}
