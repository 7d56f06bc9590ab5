package containers

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
)

// service is a service with what the scheduler remembers of it.
type service struct {
	Service
	cluster     *cluster
	way         way
	deployments []*Deployment // the primary one is the last
	looking     bool
	paced       time.Time // no task is started before
	failures    int       // starts in a row that never reached RUNNING
	notBefore   time.Time
}

func (s *service) primary() *Deployment { return s.deployments[len(s.deployments)-1] }

// Scalable is a service as an autoscaler sees it.
type Scalable struct {
	of *ECS
	s  *service
}

// Scalable finds a service of a cluster, and tells whether there is one.
func (w *ECS) Scalable(clusterName, serviceName string) (Scalable, bool) {
	c := w.clusters[clusterName]
	if c == nil || c.services[serviceName] == nil {
		return Scalable{}, false
	}
	return Scalable{w, c.services[serviceName]}, true
}

// Count is the desired count, whether the service is active, and whether tasks of an older deployment are left.
func (s Scalable) Count() (desired int, active, deploying bool) {
	return s.s.DesiredCount, s.s.Status == "ACTIVE", s.s.deploying()
}

// SetCount sets the desired count.
func (s Scalable) SetCount(n int) {
	s.s.DesiredCount = n
	s.of.attend(s.s)
}

// tasks are those that should run.
func (s *service) tasks() (all []*task) {
	for _, t := range s.cluster.tasks {
		if t.service == s && t.DesiredStatus == Running {
			all = append(all, t)
		}
	}
	return all
}

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

// deploy begins a deployment: it becomes the primary one.
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

// deploying tells whether tasks of an older deployment are left.
func (s *service) deploying() bool { return len(s.deployments) > 1 }

// attend has the scheduler look at a service, a little later.
func (w *ECS) attend(s *service) {
	if s.looking {
		return
	}
	s.looking = true
	w.acc.After(w.settings.React, func() {
		s.looking = false
		if s.Status == "ACTIVE" {
			w.level(s)
		}
	})
}

// level starts what is missing and stops what is too much.
func (w *ECS) level(s *service) {
	var fresh, old []*task
	serving := 0
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
		w.roundOff(s, serving)
	}
	most := s.DesiredCount * account.Or(s.DeploymentConfiguration.MaximumPercent, 200) / 100
	least := (s.DesiredCount*account.Or(s.DeploymentConfiguration.MinimumHealthyPercent, 100) + 99) / 100
	room := s.DesiredCount - len(fresh)
	if len(old) > 0 {
		room = min(room, max(most, s.DesiredCount)-len(fresh)-len(old))
	}
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

// roundOff ends a deployment that has replaced everything.
func (w *ECS) roundOff(s *service, serving int) {
	s.deployments = s.deployments[len(s.deployments)-1:]
	p := s.primary()
	if serving < s.DesiredCount {
		return
	}
	if p.RolloutState == "IN_PROGRESS" {
		p.RolloutState, p.RolloutStateReason, p.UpdatedAt = "COMPLETED", "ECS deployment completed.", w.acc.Now()
		w.acc.Tell("aws.ecs", "ECS Deployment State Change", s.ServiceArn, "SERVICE_DEPLOYMENT_COMPLETED")
	}
	if serving == s.DesiredCount {
		w.say(s, "has reached a steady state.")
	}
}

// startTasks starts up to n tasks: as fast as the service may, and none while its tasks fail to start.
func (w *ECS) startTasks(s *service, n int) {
	if n <= 0 {
		return
	}
	if next := cmpLater(s.paced, s.notBefore); w.acc.Now().Before(next) {
		w.acc.At(next, func() { w.attend(s) })
		return
	}
	d, err := w.definition(s.TaskDefinition)
	if err != nil {
		return
	}
	gap := time.Minute / time.Duration(w.settings.ServicePace)
	// What a service may start in one look is what it may start in a second.
	burst := max(int(time.Second/gap), 1)
	counts := map[string]int{}
	for _, t := range s.tasks() {
		counts[cmp.Or(t.CapacityProviderName, t.LaunchType)]++
	}
	for k := range n {
		if k == burst {
			s.paced = w.acc.Now().Add(gap * time.Duration(burst))
			w.acc.At(s.paced, func() { w.attend(s) })
			return
		}
		provider := s.way.next(counts)
		counts[provider]++
		request := launchRequest{definition: d, provider: provider, service: s, startedBy: s.primary().Id,
			group: "service:" + s.ServiceName, strategy: s.PlacementStrategy}
		if _, reason := w.place(s.cluster, request); reason != "" {
			w.say(s, "was unable to place a task. Reason: %s.", reason)
			s.paced = w.acc.Now().Add(retryPlacement)
			w.acc.At(s.paced, func() { w.attend(s) })
			return
		}
	}
}

// retryPlacement is how long a service waits when a task found no place.
const retryPlacement = 5 * time.Second

func cmpLater(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// stopTasks stops up to n tasks, never a protected one.
func (w *ECS) stopTasks(s *service, all []*task, n int) {
	free := slices.DeleteFunc(slices.Clone(all), func(t *task) bool { return t.protected(w.acc.Now()) })
	for ; n > 0 && len(free) > 0; n-- {
		t := w.chooseTask(s, free)
		free = slices.DeleteFunc(free, func(x *task) bool { return x == t })
		w.stop(t, "ServiceSchedulerInitiated", "Scaling activity initiated by (deployment "+s.primary().Id+")")
	}
	if n > 0 && len(all) > 0 {
		w.say(s, "was unable to scale in: more tasks are protected than desired.")
	}
}

// chooseTask is the task that goes first: one that does not run yet; with binpack the one whose instance has most free
// then; otherwise one of the zone that has most, drawn where several are equal.
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

func keepTasks(all []*task, wanted func(*task) bool) (kept []*task) {
	for _, t := range all {
		if wanted(t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// failedStart slows a service down whose tasks never reach RUNNING, to one start in 15 minutes at most.
func (w *ECS) failedStart(s *service) {
	s.primary().FailedTasks++
	s.failures++
	if s.failures < 3 {
		return
	}
	delay := min(15*time.Second<<min(s.failures-3, 10), 15*time.Minute)
	s.notBefore = w.acc.Now().Add(delay)
	w.say(s, "is unable to consistently start tasks successfully.")
	w.acc.Tell("aws.ecs", "ECS Service Action", s.ServiceArn, "SERVICE_TASK_START_IMPAIRED")
}
