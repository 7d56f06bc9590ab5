package containers

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
)

// This file has hosts: instances of groups that joined a cluster, capacity providers with managed scaling and managed
// termination protection, and the placement of tasks on hosts.

// Groups is what ECS needs of the groups that its hosts come from.
type Groups interface {
	// Group returns a group by its name or ARN, and whether there is one.
	Group(nameOrARN string) (Group, bool)
	// Resize sets the desired capacity of a group, by its name.
	Resize(group string, desired int)
	// Protect turns the scale-in protection of an instance in service on or off.
	Protect(instance string, on bool)
}

// Group is a group as ECS sees it.
type Group struct {
	Name              string
	Min, Max, Desired int
	// Weighted tells whether its instances have weights, Protects whether new ones are protected from scale-in.
	Weighted, Protects bool
	// Serving holds its instances in service.
	Serving []Host
}

// Host is an instance in service as ECS sees it.
type Host struct {
	ID, Zone string
	// Group is the name of its group, GroupARN the ARN.
	Group, GroupARN string
	// Serves tells whether the instance has stayed in service since this value was made.
	Serves func() bool
}

// host is an instance of a group that is registered in a cluster.
type host struct {
	arn          string
	instance     Host
	provider     string // the capacity provider of its group
	status       string // ACTIVE or DRAINING
	cpu, memory  int    // CPU units and MiB that no task has taken
	tasks        int    // tasks on it that have not stopped
	registeredAt time.Time
	images       map[string]bool // ARNs of task definitions whose image is cached
}

// managed tells whether ECS sizes the group of the provider.
func (p *CapacityProvider) managed() bool {
	s := p.AutoScalingGroupProvider.ManagedScaling
	return s != nil && s.Status == "ENABLED"
}

// CreateCapacityProvider ties a group to ECS. Instances join a cluster only once PutClusterCapacityProviders names
// the provider.
func (w *ECS) CreateCapacityProvider(in CreateProvider) (OneProvider, error) {
	switch {
	case in.Name == "" || in.AutoScalingGroupProvider == nil:
		return OneProvider{}, refuse("ClientException", "A capacity provider of the model needs a name and an Auto "+
			"Scaling group.")
	case w.providers[in.Name] != nil || in.Name == Fargate || in.Name == FargateSpot:
		return OneProvider{}, refuse("ClientException", "The specified capacity provider already exists.")
	case len(w.providers) >= MaxProviders:
		return OneProvider{}, refuse("LimitExceededException", "The model keeps at most %d capacity providers.",
			MaxProviders)
	}
	p := &CapacityProvider{Name: in.Name, CapacityProviderArn: w.acc.ARN("ecs", "capacity-provider/"+in.Name),
		Status: "ACTIVE", Type: "EC2_AUTOSCALING",
		AutoScalingGroupProvider: &GroupProvider{AutoScalingGroupArn: in.AutoScalingGroupProvider.AutoScalingGroupArn}}
	if err := w.configure(p, *in.AutoScalingGroupProvider); err != nil {
		return OneProvider{}, err
	}
	w.providers[in.Name] = p
	return OneProvider{*p}, nil
}

// UpdateCapacityProvider changes how ECS sizes and protects a group. Settings that the call omits stay.
func (w *ECS) UpdateCapacityProvider(in CreateProvider) (OneProvider, error) {
	p := w.providers[in.Name]
	if p == nil || in.AutoScalingGroupProvider == nil {
		return OneProvider{}, refuse("ClientException", "The specified capacity provider does not exist. Specify a "+
			"valid name or ARN and try again.")
	}
	if err := w.configure(p, *in.AutoScalingGroupProvider); err != nil {
		return OneProvider{}, err
	}
	return OneProvider{*p}, nil
}

// configure checks the settings of a provider and takes them over, all or none. Defaults are those of the API: target
// capacity 100 %, steps of 1 to 10,000 instances, 300 seconds of warm-up.
func (w *ECS) configure(p *CapacityProvider, in GroupProvider) error {
	// Changes go into a copy, so that a refused call changes nothing.
	a := *p.AutoScalingGroupProvider
	if m := in.ManagedScaling; m != nil {
		target, least, most := account.Or(m.TargetCapacity, 100), account.Or(m.MinimumScalingStepSize, 1),
			account.Or(m.MaximumScalingStepSize,
				10_000)
		if target < 1 || target > 100 || least < 1 || most < least || most > 10_000 {
			return refuse("ClientException", "targetCapacity must be from 1 to 100 and the scaling steps from 1 to "+
				"10000, in order.")
		}
		a.ManagedScaling = &ManagedScaling{cmp.Or(m.Status, "ENABLED"), &target, &least, &most,
			account.Ptr(account.Or(m.InstanceWarmupPeriod, 300))}
	}
	a.ManagedTerminationProtection = cmp.Or(in.ManagedTerminationProtection, a.ManagedTerminationProtection, "DISABLED")
	a.ManagedDraining = cmp.Or(in.ManagedDraining, a.ManagedDraining, "ENABLED")
	changed := &CapacityProvider{AutoScalingGroupProvider: &a}
	g, found := w.groups.Group(a.AutoScalingGroupArn)
	switch {
	case !found:
		return refuse("ClientException", "The specified Auto Scaling group ARN is not valid.")
	case g.Weighted:
		return refuse("ClientException", "An Auto Scaling group with instance weights cannot be a capacity provider.")
	case a.ManagedTerminationProtection == "ENABLED" && !changed.managed():
		return refuse("ClientException", "Managed termination protection needs managed scaling.")
	case a.ManagedTerminationProtection == "ENABLED" && !g.Protects:
		return refuse("ClientException", "Managed termination protection needs an Auto Scaling group whose new "+
			"instances are protected from scale in.")
	}
	p.AutoScalingGroupProvider = &a
	return nil
}

// DescribeCapacityProviders returns capacity providers in pages, the two of Fargate first; all when none is named.
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

// PutClusterCapacityProviders replaces the capacity providers of a cluster and its default strategy. Instances of
// their groups that are in service join the cluster.
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
	// Two providers may share a group: each instance joins once, in the order of the ids.
	slices.SortFunc(serving, func(a, b Host) int { return cmp.Compare(a.ID, b.ID) })
	for _, h := range slices.CompactFunc(serving, func(a, b Host) bool { return a.ID == b.ID }) {
		w.Join(h)
	}
	return OneCluster{c.show()}, nil
}

// Join registers an instance in the first cluster with a provider for its group, after the time that its agent takes.
// An instance that has left service until then, or is registered already, is ignored.
func (w *ECS) Join(i Host) {
	for _, name := range account.Sorted(w.clusters) {
		c := w.clusters[name]
		for _, n := range c.CapacityProviders {
			p := w.providers[n]
			if p == nil || !p.owns(i) {
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

// owns tells whether an instance belongs to the provider's group, which the provider names by ARN or name.
func (p *CapacityProvider) owns(i Host) bool {
	arn := p.AutoScalingGroupProvider.AutoScalingGroupArn
	return arn == i.Group || arn == i.GroupARN
}

// register makes an instance a host: waiting tasks are placed on it, and services try again.
func (w *ECS) register(c *cluster, i Host, provider string) {
	h := &host{arn: w.acc.ARN("ecs", "container-instance/"+c.ClusterName+"/"+w.acc.ID(32)), instance: i,
		provider: provider, status: "ACTIVE", cpu: w.settings.HostCPU, memory: w.settings.HostMemoryMiB,
		registeredAt: w.acc.Now(), images: map[string]bool{}}
	c.hosts = append(c.hosts, h)
	w.acc.Tell("aws.ecs", "ECS Container Instance State Change", h.arn, "ACTIVE")
	w.protectHost(h)
	w.placeWaiting(c)
	for _, name := range account.Sorted(c.services) {
		w.reconcileSoon(c.services[name])
	}
}

// hostOf returns the host that an instance is; nil for none.
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

// Leave removes an instance from its cluster. The tasks on it stop at once, without SIGTERM; services replace them.
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
		// AWS marks these tasks as stopped by the infrastructure, unless they were stopping for another reason
		// already.
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

// placeOnHost places a task on an active host with room, of one provider or of any when empty: with binpack on the
// host with least memory left, otherwise on the one with most. It returns what is short when none has room. The first
// task of a definition on a host pulls its image; later ones find it cached.
func (w *ECS) placeOnHost(t *task, provider string) string {
	binpack := slices.ContainsFunc(t.strategy, func(p PlacementStrategy) bool { return p.Type == "binpack" })
	var best *host
	// Whether some host has enough of each tells the caller what is short.
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
	w.protectHost(best)
	if best.images[t.TaskDefinitionArn] {
		w.pull(t, time.Nanosecond) // the image is there
		return ""
	}
	best.images[t.TaskDefinitionArn] = true
	w.pull(t, w.settings.HostPull)
	return ""
}

// placeWaiting tries to place tasks that wait for a host, oldest first. A large task does not block smaller ones.
func (w *ECS) placeWaiting(c *cluster) {
	for _, t := range slices.Clone(c.tasks) {
		if t.waits && t.DesiredStatus == Running {
			w.placeOnHost(t, t.CapacityProviderName)
		}
	}
}

// protectHost protects an instance from scale-in while it has tasks, if its provider has managed termination
// protection.
func (w *ECS) protectHost(h *host) {
	p := w.providers[h.provider]
	if p != nil && p.AutoScalingGroupProvider.ManagedTerminationProtection == "ENABLED" {
		w.groups.Protect(h.instance.ID, h.tasks > 0)
	}
}

// scaleInPoints is how many one-minute points in a row must be below the target before a provider scales in.
const scaleInPoints = 15

// scaleProviders publishes CapacityProviderReservation and sizes the groups with managed scaling. The metric is
//
//	100 * needed / have
//
// where needed is the number of instances that the tasks take and have the number in service; it is 200 when tasks
// wait and there are none, and 100 when there is neither. A point above the target capacity scales out at once.
// Fifteen points below it scale in, by half of the group at most.
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
		// The size at which the needed instances are TargetCapacity percent of all, rounded up.
		wanted := (needed*100 + *m.TargetCapacity - 1) / *m.TargetCapacity
		if c.lowPoints[name]++; reservation >= float64(*m.TargetCapacity) {
			c.lowPoints[name] = 0
		}
		switch {
		case wanted > g.Desired:
			// A step below the minimum is enlarged, beyond the maximum cut. The group's own bound comes last.
			step := min(max(wanted-g.Desired, *m.MinimumScalingStepSize), *m.MaximumScalingStepSize)
			w.groups.Resize(g.Name, min(g.Desired+step, g.Max))
		case wanted < g.Desired && c.lowPoints[name] >= scaleInPoints:
			w.groups.Resize(g.Name, max(wanted, g.Desired-max(g.Desired/2, 1), g.Min))
		}
	}
}

// neededHosts returns how many instances the tasks of a provider take: the hosts that have tasks, and as many more as
// the waiting tasks fill if they could be split. On real hosts they may need more, and then wait for the next minute.
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

// ListContainerInstances returns the ARNs of a cluster's hosts in pages, in the order of their registration.
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

// DescribeContainerInstances returns up to 100 hosts of a cluster.
func (w *ECS) DescribeContainerInstances(in HostNames) (HostList, error) {
	return w.hosts(in, 100, func(*host) {})
}

// UpdateContainerInstancesState sets up to ten hosts to ACTIVE or DRAINING. A draining host takes no tasks, and tasks
// of services on it stop unless they are protected; tasks that RunTask started stay.
func (w *ECS) UpdateContainerInstancesState(in HostNames) (HostList, error) {
	if in.Status != "ACTIVE" && in.Status != "DRAINING" {
		return HostList{}, invalidParameter("status '%s' must be ACTIVE or DRAINING.", in.Status)
	}
	return w.hosts(in, 10, func(h *host) {
		// The answer shows the new state at once; the tasks leave later.
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

// hosts finds the hosts that a call names, changes each and returns it as it is then.
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

// show returns the host as the API shows it, with its counts of now.
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
