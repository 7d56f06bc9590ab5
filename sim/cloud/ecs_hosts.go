package cloud

import (
	"cmp"
	"slices"
	"time"
)

// host is an instance of a group that is registered in a cluster.
type host struct {
	arn          string
	instance     *instance
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

// providedGroup is the group of a provider, nil when it is gone.
func (w *World) providedGroup(p *CapacityProvider) *group {
	for _, name := range sorted(w.groups) {
		if g := w.groups[name]; p.AutoScalingGroupProvider.AutoScalingGroupArn == g.AutoScalingGroupARN ||
			p.AutoScalingGroupProvider.AutoScalingGroupArn == name {
			return g
		}
	}
	return nil
}

// CreateCapacityProvider ties a group to ECS.
func (e ECS) CreateCapacityProvider(in CreateProvider) (OneProvider, error) {
	switch {
	case in.Name == "" || in.AutoScalingGroupProvider == nil:
		return OneProvider{}, ecsFault("ClientException", "A capacity provider of the model needs a name and an Auto "+
			"Scaling group.")
	case e.w.ecs.providers[in.Name] != nil || in.Name == Fargate || in.Name == FargateSpot:
		return OneProvider{}, ecsFault("ClientException", "The specified capacity provider already exists.")
	case len(e.w.ecs.providers) >= MaxGroups:
		return OneProvider{}, ecsFault("LimitExceededException", "The model keeps at most %d capacity providers.",
			MaxGroups)
	}
	p := &CapacityProvider{Name: in.Name, CapacityProviderArn: e.w.arn("ecs", "capacity-provider/"+in.Name),
		Status: "ACTIVE", Type: "EC2_AUTOSCALING",
		AutoScalingGroupProvider: &GroupProvider{AutoScalingGroupArn: in.AutoScalingGroupProvider.AutoScalingGroupArn}}
	if err := e.w.shape(p, *in.AutoScalingGroupProvider); err != nil {
		return OneProvider{}, err
	}
	e.w.ecs.providers[in.Name] = p
	return OneProvider{*p}, nil
}

// UpdateCapacityProvider changes how a group is tied to ECS.
func (e ECS) UpdateCapacityProvider(in CreateProvider) (OneProvider, error) {
	p := e.w.ecs.providers[in.Name]
	if p == nil || in.AutoScalingGroupProvider == nil {
		return OneProvider{}, ecsFault("ClientException", "The specified capacity provider does not exist. Specify a "+
			"valid name or ARN and try again.")
	}
	if err := e.w.shape(p, *in.AutoScalingGroupProvider); err != nil {
		return OneProvider{}, err
	}
	return OneProvider{*p}, nil
}

// shape checks and takes over what is given.
func (w *World) shape(p *CapacityProvider, in GroupProvider) error {
	a := *p.AutoScalingGroupProvider
	if m := in.ManagedScaling; m != nil {
		target, least, most := or(m.TargetCapacity, 100), or(m.MinimumScalingStepSize, 1), or(m.MaximumScalingStepSize,
			10_000)
		if target < 1 || target > 100 || least < 1 || most < least || most > 10_000 {
			return ecsFault("ClientException", "targetCapacity must be from 1 to 100 and the scaling steps from 1 to "+
				"10000, in order.")
		}
		a.ManagedScaling = &ManagedScaling{cmp.Or(m.Status, "ENABLED"), &target, &least, &most,
			ptr(or(m.InstanceWarmupPeriod, 300))}
	}
	a.ManagedTerminationProtection = cmp.Or(in.ManagedTerminationProtection, a.ManagedTerminationProtection, "DISABLED")
	a.ManagedDraining = cmp.Or(in.ManagedDraining, a.ManagedDraining, "ENABLED")
	shaped := &CapacityProvider{AutoScalingGroupProvider: &a}
	g := w.providedGroup(shaped)
	switch {
	case g == nil:
		return ecsFault("ClientException", "The specified Auto Scaling group ARN is not valid.")
	case g.weighted():
		return ecsFault("ClientException", "An Auto Scaling group with instance weights cannot be a capacity provider.")
	case a.ManagedTerminationProtection == "ENABLED" && !shaped.managed():
		return ecsFault("ClientException", "Managed termination protection needs managed scaling.")
	case a.ManagedTerminationProtection == "ENABLED" && !g.NewInstancesProtectedFromScaleIn:
		return ecsFault("ClientException", "Managed termination protection needs an Auto Scaling group whose new "+
			"instances are protected from scale in.")
	}
	p.AutoScalingGroupProvider = &a
	return nil
}

// DescribeCapacityProviders shows capacity providers, those of Fargate among them.
func (e ECS) DescribeCapacityProviders(in ProviderNames) (ProviderList, error) {
	all := []CapacityProvider{
		{Name: Fargate, CapacityProviderArn: e.w.arn("ecs", "capacity-provider/"+Fargate), Status: "ACTIVE",
			Type: Fargate},
		{Name: FargateSpot, CapacityProviderArn: e.w.arn("ecs", "capacity-provider/"+FargateSpot), Status: "ACTIVE",
			Type: FargateSpot},
	}
	for _, name := range sorted(e.w.ecs.providers) {
		all = append(all, *e.w.ecs.providers[name])
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
	out.CapacityProviders, out.NextToken, err = page(all, in.NextToken, min(max(or(in.MaxResults, 10), 1), 100))
	return out, err
}

// PutClusterCapacityProviders says which providers a cluster has. Instances of their groups that are in service join
// it.
func (e ECS) PutClusterCapacityProviders(in ClusterProviders) (OneCluster, error) {
	c, err := e.w.cluster(in.Cluster)
	if err != nil {
		return OneCluster{}, err
	}
	for _, name := range in.CapacityProviders {
		if name != Fargate && name != FargateSpot && e.w.ecs.providers[name] == nil {
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
	for _, id := range sorted(e.w.instances) {
		if i := e.w.instances[id]; i.state == InService {
			e.w.joinCluster(i)
		}
	}
	return OneCluster{c.show()}, nil
}

// joinCluster registers an instance in the cluster whose provider its group is, after a while.
func (w *World) joinCluster(i *instance) {
	for _, name := range sorted(w.ecs.clusters) {
		c := w.ecs.clusters[name]
		for _, n := range c.CapacityProviders {
			p := w.ecs.providers[n]
			if p == nil || w.providedGroup(p) != i.group {
				continue
			}
			turn := i.turn
			w.after(w.around("tasks", w.settings.Tasks.Join, w.settings.Tasks.Spread), func() {
				if i.turn == turn && w.hostOf(i) == nil {
					w.register(c, i, n)
				}
			})
			return
		}
	}
}

func (w *World) register(c *cluster, i *instance, provider string) {
	h := &host{arn: w.arn("ecs", "container-instance/"+c.ClusterName+"/"+w.id(32)), instance: i, provider: provider,
		status: "ACTIVE",
		cpu:    w.settings.Tasks.HostCPU, memory: w.settings.Tasks.HostMemoryMiB, registeredAt: w.now,
		images: map[string]bool{}}
	c.hosts = append(c.hosts, h)
	w.tell("aws.ecs", "ECS Container Instance State Change", h.arn, "ACTIVE")
	w.shieldHost(h)
	w.placeWaiting(c)
	for _, name := range sorted(c.services) {
		w.attend(c.services[name])
	}
}

func (w *World) hostOf(i *instance) *host {
	for _, name := range sorted(w.ecs.clusters) {
		for _, h := range w.ecs.clusters[name].hosts {
			if h.instance == i {
				return h
			}
		}
	}
	return nil
}

// leaveCluster takes an instance out of its cluster; the tasks on it are gone with it.
func (w *World) leaveCluster(i *instance) {
	for _, name := range sorted(w.ecs.clusters) {
		c := w.ecs.clusters[name]
		k := slices.IndexFunc(c.hosts, func(h *host) bool { return h.instance == i })
		if k < 0 {
			continue
		}
		h := c.hosts[k]
		c.hosts = slices.Delete(c.hosts, k, k+1)
		w.tell("aws.ecs", "ECS Container Instance State Change", h.arn, "INACTIVE")
		for _, t := range slices.Clone(c.tasks) {
			if t.host == h && t.LastStatus != Stopped {
				t.host = nil
				t.StopCode, t.StoppedReason = cmp.Or(t.StopCode, "InfrastructureHealth"), cmp.Or(t.StoppedReason,
					"Host EC2 (instance "+i.id+") terminated.")
				w.stopped(t)
			}
		}
	}
}

// placeOnHost puts a task on an instance that has room: with binpack where least is left, otherwise where most is.
func (w *World) placeOnHost(t *task, provider string) string {
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
	t.ContainerInstanceArn, t.AvailabilityZone = best.arn, best.instance.pool.AvailabilityZone
	w.shieldHost(best)
	if best.images[t.TaskDefinitionArn] {
		w.pull(t, time.Nanosecond) // the image is there
		return ""
	}
	best.images[t.TaskDefinitionArn] = true
	w.pull(t, w.settings.Tasks.HostPull)
	return ""
}

// placeWaiting gives tasks that wait for an instance another try, the oldest first.
func (w *World) placeWaiting(c *cluster) {
	for _, t := range slices.Clone(c.tasks) {
		if t.waits && t.DesiredStatus == Running {
			w.placeOnHost(t, t.CapacityProviderName)
		}
	}
}

// shieldHost protects an instance from scale-in while it has tasks, where the provider has managed termination
// protection.
func (w *World) shieldHost(h *host) {
	p := w.ecs.providers[h.provider]
	if p == nil || p.AutoScalingGroupProvider.ManagedTerminationProtection != "ENABLED" ||
		h.instance.state != InService {
		return
	}
	if protect := h.tasks > 0; protect != h.instance.protected {
		h.instance.protected = protect
		w.look(h.instance.group)
	}
}

// lowPoints is how many one-minute points below its target make a provider scale in.
const lowPoints = 15

// scaleProviders publishes CapacityProviderReservation and sizes the groups whose scaling is managed: out at the first
// point above the target, in after 15 points below it, by half of the group at most.
func (w *World) scaleProviders(c *cluster) {
	for _, name := range c.CapacityProviders {
		p := w.ecs.providers[name]
		if p == nil || !p.managed() {
			continue
		}
		g := w.providedGroup(p)
		if g == nil {
			continue
		}
		needed, have := w.neededHosts(c,
			name), len(keep(g.instances, func(i *instance) bool { return i.state == InService }))
		reservation := 100.0
		switch {
		case have == 0 && needed > 0:
			reservation = 200
		case have > 0:
			reservation = 100 * float64(needed) / float64(have)
		}
		w.publish(MetricName{"AWS/ECS/ManagedScaling", "CapacityProviderReservation",
			[]Dimension{{"CapacityProviderName", name}, {"ClusterName", c.ClusterName}}}, reservation)
		m := p.AutoScalingGroupProvider.ManagedScaling
		wanted := (needed*100 + *m.TargetCapacity - 1) / *m.TargetCapacity
		if c.lows[name]++; reservation >= float64(*m.TargetCapacity) {
			c.lows[name] = 0
		}
		switch {
		case wanted > g.desired:
			step := min(max(wanted-g.desired, *m.MinimumScalingStepSize), *m.MaximumScalingStepSize)
			w.resize(g, min(g.desired+step, g.MaxSize))
		case wanted < g.desired && c.lows[name] >= lowPoints:
			w.resize(g, max(wanted, g.desired-max(g.desired/2, 1), g.MinSize))
		}
	}
}

// neededHosts is how many instances the tasks of a provider take: those that have tasks, and those that the waiting
// ones need.
func (w *World) neededHosts(c *cluster, provider string) int {
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
	s := w.settings.Tasks
	return n + max((cpu+s.HostCPU-1)/s.HostCPU, (memory+s.HostMemoryMiB-1)/s.HostMemoryMiB)
}

// ListContainerInstances lists the ARNs of a cluster's instances.
func (e ECS) ListContainerInstances(in ListHosts) (HostArns, error) {
	c, err := e.w.cluster(in.Cluster)
	if err != nil {
		return HostArns{}, err
	}
	var all []string
	for _, h := range c.hosts {
		if in.Status == "" || in.Status == h.status {
			all = append(all, h.arn)
		}
	}
	n := or(in.MaxResults, 100)
	if n < 1 || n > 100 {
		return HostArns{}, invalidParameter("maxResults %d must be from 1 to 100.", n)
	}
	arns, next, err := page(all, in.NextToken, n)
	return HostArns{arns, next}, err
}

// DescribeContainerInstances shows up to 100 instances of a cluster.
func (e ECS) DescribeContainerInstances(in HostNames) (HostList, error) {
	return e.hosts(in, 100, func(*host) {})
}

// UpdateContainerInstancesState sets up to ten instances to ACTIVE or DRAINING. Tasks of services leave a draining
// instance as soon as their service can start others, unless they are protected; tasks of their own stay.
func (e ECS) UpdateContainerInstancesState(in HostNames) (HostList, error) {
	if in.Status != "ACTIVE" && in.Status != "DRAINING" {
		return HostList{}, invalidParameter("status '%s' must be ACTIVE or DRAINING.", in.Status)
	}
	return e.hosts(in, 10, func(h *host) {
		h.status = in.Status
		if h.status != "DRAINING" {
			return
		}
		for _, t := range slices.Clone(e.w.ecs.clusters[last(cmp.Or(in.Cluster, "default"))].tasks) {
			if t.host == h && t.service != nil && !t.protected(e.w.now) {
				e.w.stop(t, "ServiceSchedulerInitiated", "The container instance is draining.")
			}
		}
	})
}

func (e ECS) hosts(in HostNames, most int, change func(*host)) (HostList, error) {
	c, err := e.w.cluster(in.Cluster)
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
		out.ContainerInstances = append(out.ContainerInstances, c.hosts[k].show(c, e.w.settings.Tasks))
	}
	return out, nil
}

func (h *host) show(c *cluster, t Tasks) ContainerInstance {
	of := func(cpu, memory int) []Resource {
		return []Resource{{"CPU", "INTEGER", cpu}, {"MEMORY", "INTEGER", memory}}
	}
	s := ContainerInstance{ContainerInstanceArn: h.arn, Ec2InstanceId: h.instance.id, CapacityProviderName: h.provider,
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
