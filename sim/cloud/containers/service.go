package containers

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
)

// This file has the scheduler of services: deployments, the tasks that it starts and stops, and which task goes
// first.

// service is a service with the state of its scheduler. The embedded Service has its settings; show adds the counts.
type service struct {
	Service
	cluster      *cluster
	launch       launch
	deployments  []*Deployment // oldest first; the last is the primary one, whose tasks are to stay
	reconcileDue bool          // a reconciliation is scheduled
	paced        time.Time     // no task is started earlier: the pace of the service, or a task found no host
	failures     int           // starts in a row that ended before RUNNING
	notBefore    time.Time     // no task is started earlier, because starts failed
}

// primary returns the deployment that the service should be at.
func (s *service) primary() *Deployment { return s.deployments[len(s.deployments)-1] }

// Scalable is a service as an autoscaler sees it. It implements scaling.Service.
type Scalable struct {
	of *ECS
	s  *service
}

// Scalable returns a service of a cluster, both by name, and whether there is one.
func (w *ECS) Scalable(clusterName, serviceName string) (Scalable, bool) {
	c := w.clusters[clusterName]
	if c == nil || c.services[serviceName] == nil {
		return Scalable{}, false
	}
	return Scalable{w, c.services[serviceName]}, true
}

// Count returns the desired count, whether the service is active, and whether tasks of an older deployment are left.
func (s Scalable) Count() (desired int, active, deploying bool) {
	return s.s.DesiredCount, s.s.Status == "ACTIVE", s.s.deploying()
}

// SetCount sets the desired count. The caller keeps its bounds.
func (s Scalable) SetCount(n int) {
	s.s.DesiredCount = n
	s.of.reconcileSoon(s.s)
}

// tasks returns the tasks of the service whose desired status is RUNNING, oldest first.
func (s *service) tasks() (all []*task) {
	for _, t := range s.cluster.tasks {
		if t.service == s && t.DesiredStatus == Running {
			all = append(all, t)
		}
	}
	return all
}

// show returns the service as the API shows it: counts of now, deployments and events newest first.
func (s *service) show() Service {
	out := s.Service
	out.Deployments, out.Events = nil, slices.Clone(s.Events)
	slices.Reverse(out.Events)
	running, pending := map[string]int{}, map[string]int{}
	for _, t := range s.cluster.tasks {
		switch {
		case t.service != s:
		case t.LastStatus == Running && t.DesiredStatus == Running:
			running[t.StartedBy]++
			out.RunningCount++
		case t.DesiredStatus == Running:
			pending[t.StartedBy]++
			out.PendingCount++
		}
	}
	for _, d := range slices.Backward(s.deployments) {
		x := *d
		x.RunningCount, x.PendingCount = running[d.Id], pending[d.Id]
		if d == s.primary() {
			x.DesiredCount = s.DesiredCount
		}
		out.Deployments = append(out.Deployments, x)
	}
	return out
}

// deploy starts a deployment of a task definition, which becomes the primary one. Reconciling replaces the tasks of
// the older deployments.
func (w *ECS) deploy(s *service, d *TaskDefinition) {
	for _, old := range s.deployments {
		old.Status = "ACTIVE"
	}
	s.TaskDefinition = d.TaskDefinitionArn
	s.deployments = append(s.deployments, &Deployment{Id: "ecs-svc/" + w.acc.ID(19), Status: "PRIMARY",
		TaskDefinition: d.TaskDefinitionArn,
		RolloutState:   "IN_PROGRESS", RolloutStateReason: "ECS deployment in progress.", LaunchType: s.LaunchType,
		CreatedAt: w.acc.Now(), UpdatedAt: w.acc.Now()})
}

// deploying tells whether a deployment is in progress: tasks of an older one may be left.
func (s *service) deploying() bool { return len(s.deployments) > 1 }

// reconcileSoon schedules a reconciliation of a service after the scheduler's reaction time. Changes until then share
// it.
func (w *ECS) reconcileSoon(s *service) {
	if s.reconcileDue {
		return
	}
	s.reconcileDue = true
	w.acc.After(w.settings.React, func() {
		s.reconcileDue = false
		if s.Status == "ACTIVE" {
			w.reconcile(s)
		}
	})
}

// reconcile starts the tasks that a service lacks and stops those that it has too many. During a deployment it keeps
// between the least and the most tasks of the deployment configuration, both percentages of the desired count: least
// is rounded up, most down, as AWS documents.
func (w *ECS) reconcile(s *service) {
	var fresh, old []*task
	serving := 0
	// Tasks carry the id of the deployment that started them.
	for _, t := range s.tasks() {
		if t.LastStatus == Running {
			serving++
		}
		if t.StartedBy == s.primary().Id {
			fresh = append(fresh, t)
		} else {
			old = append(old, t)
		}
	}
	if len(old) == 0 {
		w.completeDeployment(s, serving)
	}
	most := s.DesiredCount * account.Or(s.DeploymentConfiguration.MaximumPercent, 200) / 100
	least := (s.DesiredCount*account.Or(s.DeploymentConfiguration.MinimumHealthyPercent, 100) + 99) / 100
	// Without a deployment the desired count is the bound. With one, old tasks take their share of the maximum, which
	// is never below the desired count: a lower maximum would stop serving tasks first.
	room := s.DesiredCount - len(fresh)
	if len(old) > 0 {
		room = min(room, max(most, s.DesiredCount)-len(fresh)-len(old))
	}
	// Starting comes before stopping, so that a deployment replaces tasks before it takes the old ones away.
	w.startTasks(s, room)
	surplus := len(fresh) - s.DesiredCount
	if len(old) > 0 {
		// A deployment stops old tasks while enough others serve; a lower desired count stops old ones first.
		surplus = max(len(fresh)+len(old)-max(most, s.DesiredCount), min(serving-least, len(old)))
		w.stopTasks(s, old, surplus)
		w.stopTasks(s, fresh, len(fresh)-s.DesiredCount)
		return
	}
	w.stopTasks(s, fresh, surplus)
}

// completeDeployment drops the older deployments of a service, whose tasks are gone, and reports the primary one as
// completed when the desired count serves.
func (w *ECS) completeDeployment(s *service, serving int) {
	s.deployments = s.deployments[len(s.deployments)-1:]
	p := s.primary()
	if serving < s.DesiredCount {
		return
	}
	// The state changes once: a later change of the desired count is no deployment.
	if p.RolloutState == "IN_PROGRESS" {
		p.RolloutState, p.RolloutStateReason, p.UpdatedAt = "COMPLETED", "ECS deployment completed.", w.acc.Now()
		w.acc.Tell("aws.ecs", "ECS Deployment State Change", s.ServiceArn, "SERVICE_DEPLOYMENT_COMPLETED")
	}
	if serving == s.DesiredCount {
		w.addEvent(s, "has reached a steady state.")
	}
}

// startTasks starts up to n tasks. The service's pace bounds how many in a second, and nothing is started while its
// starts fail. A task that finds no place is logged as an event and tried again later.
func (w *ECS) startTasks(s *service, n int) {
	if n <= 0 {
		return
	}
	if next := later(s.paced, s.notBefore); w.acc.Now().Before(next) {
		w.acc.At(next, func() { w.reconcileSoon(s) })
		return
	}
	d, err := w.definition(s.TaskDefinition)
	if err != nil {
		return
	}
	gap := time.Minute / time.Duration(w.settings.ServicePace)
	// One reconciliation starts what the service may start in a second, so that a burst is spread over seconds.
	burst := max(int(time.Second/gap), 1)
	// Strategies count the tasks that run: a service that lost tasks of one provider fills that one up again.
	counts := map[string]int{}
	for _, t := range s.tasks() {
		counts[cmp.Or(t.CapacityProviderName, t.LaunchType)]++
	}
	// The pace is kept by starting one second's worth at a time.
	for k := range n {
		if k == burst {
			s.paced = w.acc.Now().Add(gap * time.Duration(burst))
			w.acc.At(s.paced, func() { w.reconcileSoon(s) })
			return
		}
		provider := s.launch.next(counts)
		counts[provider]++
		// The group "service:NAME" is how AWS marks tasks that belong to a service.
		request := launchRequest{definition: d, provider: provider, service: s, startedBy: s.primary().Id,
			group: "service:" + s.ServiceName, strategy: s.PlacementStrategy}
		if _, reason := w.place(s.cluster, request); reason != "" {
			w.addEvent(s, "was unable to place a task. Reason: %s.", reason)
			s.paced = w.acc.Now().Add(retryPlacement)
			w.acc.At(s.paced, func() { w.reconcileSoon(s) })
			return
		}
	}
}

// retryPlacement is the pause of a service after a task found no place.
const retryPlacement = 5 * time.Second

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// stopTasks stops up to n tasks of those given, and never a protected one. If protection leaves too few, it says so
// in the service's events.
func (w *ECS) stopTasks(s *service, all []*task, n int) {
	// Protected tasks are set aside first. What is then left may be fewer than n.
	free := slices.DeleteFunc(slices.Clone(all), func(t *task) bool { return t.protected(w.acc.Now()) })
	for ; n > 0 && len(free) > 0; n-- {
		t := w.chooseTask(s, free)
		free = slices.DeleteFunc(free, func(x *task) bool { return x == t })
		w.stop(t, "ServiceSchedulerInitiated", "Scaling activity initiated by (deployment "+s.primary().Id+")")
	}
	if n > 0 && len(all) > 0 {
		w.addEvent(s, "was unable to scale in: more tasks are protected than desired.")
	}
}

// chooseTask returns the task that stops first: the newest that does not run yet; with binpack the one whose host has
// most memory left; otherwise a task in the zone that has most of the service, drawn by chance.
func (w *ECS) chooseTask(s *service, free []*task) *task {
	if waiting := keepTasks(free, func(t *task) bool { return t.LastStatus != Running }); len(waiting) > 0 {
		return waiting[len(waiting)-1]
	}
	if slices.ContainsFunc(s.PlacementStrategy, func(p PlacementStrategy) bool { return p.Type == "binpack" }) {
		left := func(t *task) int {
			if t.host == nil {
				return 0
			}
			return t.host.memory
		}
		return slices.MaxFunc(free, func(a, b *task) int { return cmp.Compare(left(a), left(b)) })
	}
	zones := map[string]int{}
	for _, t := range s.tasks() {
		zones[t.AvailabilityZone]++
	}
	most := 0
	for _, t := range free {
		most = max(most, zones[t.AvailabilityZone])
	}
	fullest := keepTasks(free, func(t *task) bool { return zones[t.AvailabilityZone] == most })
	return fullest[int(w.acc.Draw("victims")*float64(len(fullest)))]
}

// keepTasks returns the tasks that are wanted, in their order.
func keepTasks(all []*task, wanted func(*task) bool) (kept []*task) {
	for _, t := range all {
		if wanted(t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// failedStart counts a start that ended before RUNNING. From the third in a row on, the service pauses 15 s, then
// twice as long each time, up to 15 minutes; AWS documents the throttling and its upper bound, not the steps.
func (w *ECS) failedStart(s *service) {
	s.primary().FailedTasks++
	s.failures++
	if s.failures < 3 {
		return
	}
	delay := min(15*time.Second<<min(s.failures-3, 10), 15*time.Minute)
	s.notBefore = w.acc.Now().Add(delay)
	w.addEvent(s, "is unable to consistently start tasks successfully.")
	w.acc.Tell("aws.ecs", "ECS Service Action", s.ServiceArn, "SERVICE_TASK_START_IMPAIRED")
}
