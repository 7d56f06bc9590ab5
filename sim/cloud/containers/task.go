package containers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
)

// This file has tasks: how they are placed, move through their states and stop, the actions on them, and protection.

// task is a task from its order until an hour after it stopped. The embedded Task is what the API shows.
type task struct {
	Task
	id          string
	cluster     *cluster
	service     *service // nil for one that RunTask started
	definition  *TaskDefinition
	host        *host     // nil on Fargate, and while the task waits for one
	cpu         int       // CPU units that it takes
	memory      int       // MiB that it takes
	turn        int       // counts changes of state; what was scheduled for an earlier state does nothing
	ran         bool      // it has reached RUNNING
	protection  time.Time // end of its protection; zero when it is not protected
	expiryCheck time.Time // when the next check for the end of protection is scheduled
	strategy    []PlacementStrategy
	waits       bool // for a host, while ECS sizes the group of its provider
}

// protected tells whether the task is protected from scale-in and deployments at an instant.
func (t *task) protected(now time.Time) bool { return now.Before(t.protection) }

// show returns the task as the API shows it, with its containers, which share its state.
func (t *task) show(now time.Time) Task {
	s := t.Task
	exit := (*int)(nil)
	if t.LastStatus == Stopped {
		exit = account.Ptr(0)
	}
	for _, c := range t.definition.ContainerDefinitions {
		s.Containers = append(s.Containers, Container{c.Name, t.LastStatus, t.TaskArn, exit})
	}
	return s
}

// launchRequest is what place starts.
type launchRequest struct {
	definition *TaskDefinition
	provider   string   // FARGATE, FARGATE_SPOT, EC2 or the name of a group's provider
	service    *service // nil for RunTask
	startedBy  string   // the deployment's id, or what RunTask states
	group      string
	overrides  *TaskOverride
	strategy   []PlacementStrategy
}

// place starts a task and returns it, or returns the reason why it cannot. A provider with managed scaling takes a
// task without a host: it waits, which makes the provider scale out.
func (w *ECS) place(c *cluster, r launchRequest) (*task, string) {
	if len(c.tasks) >= MaxTasks {
		return nil, fmt.Sprintf("the model keeps at most %d tasks in a cluster", MaxTasks)
	}
	cpu, memory := r.definition.needs()
	t := &task{id: w.acc.ID(32), cluster: c, service: r.service, definition: r.definition, cpu: cpu, memory: memory,
		strategy: r.strategy}
	t.TaskArn = w.acc.ARN("ecs", "task/"+c.ClusterName+"/"+t.id)
	t.TaskDefinitionArn, t.ClusterArn, t.Group, t.StartedBy = r.definition.TaskDefinitionArn, c.ClusterArn, r.group,
		r.startedBy
	t.DesiredStatus, t.CreatedAt, t.Overrides, t.Connectivity = Running, w.acc.Now(), r.overrides, "CONNECTED"
	// The launch type is EC2 until the task turns out to run on Fargate.
	t.Cpu, t.Memory, t.LaunchType = fmt.Sprint(cpu), fmt.Sprint(memory), EC2
	switch provider := w.providers[r.provider]; {
	case r.provider == Fargate || r.provider == FargateSpot:
		if reason := w.placeOnFargate(t, r.provider); reason != "" {
			return nil, reason
		}
	case provider == nil:
		if reason := w.placeOnHost(t, ""); reason != "" {
			return nil, reason
		}
	default:
		t.CapacityProviderName = r.provider
		reason := w.placeOnHost(t, r.provider)
		switch {
		case reason == "":
		case !provider.managed():
			return nil, reason
		// AWS keeps at most 500 tasks of a cluster waiting.
		case len(keepTasks(c.tasks,
			func(t *task) bool { return t.waits && t.DesiredStatus == Running })) >= maxWaitingTasks:
			return nil, "CAPACITY_PROVIDER: too many tasks wait for capacity"
		default:
			w.waitForHost(t)
		}
	}
	c.tasks = append(c.tasks, t)
	c.byID[t.id] = t
	return t, ""
}

// placeOnFargate starts a task on Fargate, if its pool has capacity and the launch rate has a token. It returns the
// reason why not in the words of AWS. Zones are used in turn.
func (w *ECS) placeOnFargate(t *task, provider string) string {
	market := account.OnDemand
	if t.LaunchType = Fargate; provider == FargateSpot {
		market = account.Spot
	}
	if most, limited := w.acc.Capacity(account.Pool{InstanceType: Fargate, AvailabilityZone: "",
		Market: market}); limited && w.onFargate(provider) >= most {
		return "Capacity is unavailable at this time. Please try again later or in a different availability zone"
	}
	if !w.fargate[provider].Take(w.acc.Now()) {
		return "Rate exceeded"
	}
	t.CapacityProviderName = provider
	zones := []string{"a", "b", "c"}
	t.AvailabilityZone = w.acc.Region() + zones[len(t.cluster.tasks)%len(zones)]
	p := w.settings
	w.step(t, Provisioning, p.Provision, func() { w.pull(t, p.Pull) })
	return ""
}

// onFargate returns the number of tasks of a Fargate provider that have not stopped, over all clusters.
func (w *ECS) onFargate(provider string) (n int) {
	for _, c := range w.clusters { // a sum: the order does not matter
		for _, t := range c.tasks {
			if t.LaunchType == Fargate && t.LastStatus != Stopped && t.CapacityProviderName == provider {
				n++
			}
		}
	}
	return n
}

// waitForHost lets a task wait in PROVISIONING until a host has room. After half an hour it stops with the code
// TaskFailedToStart.
func (w *ECS) waitForHost(t *task) {
	t.waits = true
	w.step(t, Provisioning, maxPlacementWait, func() {
		t.StopCode, t.StoppedReason = "TaskFailedToStart", "No capacity came up in time."
		w.stopped(t)
	})
}

// step puts a task into a state and schedules next after d, spread by chance unless the task waits for a host. Nil
// schedules nothing. If the task changes state earlier, next is dropped.
func (w *ECS) step(t *task, status string, d time.Duration, next func()) {
	t.LastStatus = status
	t.Version++
	t.turn++
	turn := t.turn
	w.acc.Tell("aws.ecs", "ECS Task State Change", t.TaskArn, status)
	if next == nil {
		return
	}
	if !t.waits {
		d = w.acc.Around("tasks", d, w.settings.Spread)
	}
	w.acc.After(d, func() {
		if t.turn == turn {
			next()
		}
	})
}

// pull brings a task to PENDING, where its image is pulled.
func (w *ECS) pull(t *task, d time.Duration) {
	t.PullStartedAt = w.acc.Now()
	w.step(t, TaskPending, d, func() {
		t.PullStoppedAt = w.acc.Now()
		w.activate(t)
	})
}

// activate brings a task to ACTIVATING and then to RUNNING, unless its start fails by chance.
func (w *ECS) activate(t *task) {
	w.step(t, Activating, w.settings.Activate, func() {
		if w.acc.Hit("starts", w.settings.StartFails) {
			t.StopCode, t.StoppedReason = "TaskFailedToStart", "The container failed to start."
			w.stopped(t)
			return
		}
		t.ran, t.StartedAt = true, w.acc.Now()
		w.step(t, Running, 0, nil)
		if t.service != nil {
			t.service.failures = 0
			w.reconcileSoon(t.service)
		}
	})
}

// stop orders a task to stop: SIGTERM now, and SIGKILL if the container has not ended when its stop timeout passes.
// Code and reason are what the API shows. A task that never ran stops after a second. A second order changes nothing.
func (w *ECS) stop(t *task, code, reason string) {
	if t.DesiredStatus == Stopped {
		return
	}
	// The desired status changes first: from now on the task does not count for its service, which may start another.
	t.DesiredStatus, t.StopCode, t.StoppedReason, t.StoppingAt = Stopped, code, reason, w.acc.Now()
	if t.service != nil {
		w.reconcileSoon(t.service)
	}
	if !t.ran {
		w.step(t, Stopping, time.Second, func() { w.stopped(t) })
		return
	}
	p := w.settings
	timeout := p.StopTimeout
	for _, c := range t.definition.ContainerDefinitions {
		if c.StopTimeout != nil {
			timeout = max(time.Duration(*c.StopTimeout)*time.Second, time.Second)
		}
	}
	// Fargate allows two minutes at most, whatever the task definition says.
	if t.LaunchType == Fargate {
		timeout = min(timeout, 2*time.Minute)
	}
	w.step(t, Stopping, min(p.Exit, timeout), func() {
		t.ExecutionStoppedAt = w.acc.Now()
		w.step(t, Deprovisioning, p.Deprovision, func() { w.stopped(t) })
	})
}

// stopped is the end of a task: it frees its host, which may then take a waiting task, and its service replaces it.
func (w *ECS) stopped(t *task) {
	c := t.cluster
	t.waits = false
	t.DesiredStatus, t.StoppedAt, t.protection = Stopped, w.acc.Now(), time.Time{}
	w.step(t, Stopped, 0, nil)
	if h := t.host; h != nil {
		// The host has its resources back, so a waiting task may fit now.
		h.cpu, h.memory = h.cpu+t.cpu, h.memory+t.memory
		h.tasks--
		w.protectHost(h)
		w.placeWaiting(c)
	}
	if s := t.service; s != nil {
		if !t.ran && t.StopCode == "TaskFailedToStart" {
			w.failedStart(s)
		}
		w.reconcileSoon(s)
	}
	w.acc.After(stoppedRetention, func() {
		delete(c.byID, t.id)
		c.tasks = slices.DeleteFunc(c.tasks, func(x *task) bool { return x == t })
	})
}

// ExitTask ends the container of a running task, as a worker does that exits by itself. The error says that no such
// task runs.
func (w *ECS) ExitTask(arn string) error {
	t := w.findTask(arn)
	if t == nil || t.LastStatus != Running || t.DesiredStatus == Stopped {
		return fmt.Errorf("end task %s: no such task is running", arn)
	}
	w.stop(t, "EssentialContainerExited", "Essential container in task exited")
	return nil
}

// InterruptTask interrupts a task on Fargate Spot: SIGTERM, and SIGKILL after its stop timeout, at most two minutes.
// The error says that no such task runs on Fargate Spot.
func (w *ECS) InterruptTask(arn string) error {
	t := w.findTask(arn)
	if t == nil || t.CapacityProviderName != FargateSpot || t.DesiredStatus == Stopped {
		return fmt.Errorf("interrupt task %s: no such task runs on Fargate Spot", arn)
	}
	w.stop(t, "SpotInterruption", "Your Spot Task was interrupted.")
	return nil
}

// findTask finds a task of any cluster by its ARN or id; nil for none.
func (w *ECS) findTask(arn string) *task {
	for _, name := range account.Sorted(w.clusters) {
		if t := w.clusters[name].byID[last(arn)]; t != nil {
			return t
		}
	}
	return nil
}

// runAnswer is what is remembered for a client token of RunTask: the request, to refuse another, and what it started.
type runAnswer struct {
	request string
	ids     []string
	fails   []Failure
}

// RunTask starts up to ten tasks that belong to no service. A task without a place is a Failure in the answer, not an
// error. A client token that was used before returns the tasks of the first call and starts nothing.
func (w *ECS) RunTask(in RunTaskInput) (TaskList, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return TaskList{}, err
	}
	d, err := w.definition(in.TaskDefinition)
	if err != nil {
		return TaskList{}, err
	}
	n := account.Or(in.Count, 1)
	switch {
	case n < 1 || n > 10:
		return TaskList{}, invalidParameter("Count must be from 1 to 10, got %d.", n)
	case len(in.StartedBy) > 128 || len(in.ClientToken) > 64:
		return TaskList{}, invalidParameter("startedBy has at most 128 characters, clientToken 64.")
	case strings.HasPrefix(in.Group, "service:"):
		return TaskList{}, invalidParameter("The group must not begin with service:.")
	}
	how, err := c.checkLaunch(in.LaunchType, in.CapacityProviderStrategy, in.NetworkConfiguration)
	if err != nil {
		return TaskList{}, err
	}
	// Tokens are remembered by cluster. The request is compared as text: any other parameter of the call may differ.
	token := ""
	request := fmt.Sprint(d.TaskDefinitionArn, n, how, in.StartedBy, in.Group)
	if in.ClientToken != "" {
		token = "run/" + c.ClusterName + "/" + in.ClientToken
	}
	if before, ok := w.tokens.Before(token).(runAnswer); ok {
		if before.request != request {
			return TaskList{}, refuse("ConflictException", "The client token was used with other parameters.")
		}
		return w.tasksOf(c, before), nil
	}
	// AWS refuses the whole call when no host exists; with hosts, each task without room is a failure in the answer.
	if how.launchType == EC2 && len(c.hosts) == 0 {
		return TaskList{}, invalidParameter("No Container Instances were found in your cluster.")
	}
	answer := runAnswer{request: request}
	counts := map[string]int{}
	for k := range n {
		provider := how.next(counts)
		counts[provider]++
		t, reason := w.place(c, launchRequest{definition: d, provider: provider, startedBy: in.StartedBy,
			group: cmp.Or(in.Group, "family:"+d.Family), overrides: in.Overrides, strategy: in.PlacementStrategy})
		switch {
		// The launch rate throttles the call if not a single task starts; later tasks are failures in the answer.
		case reason == "Rate exceeded" && k == 0:
			return TaskList{}, account.FaultOf(account.Throttled, account.ECSService, "RunTask")
		case reason != "":
			answer.fails = append(answer.fails, Failure{Arn: c.ClusterArn, Reason: reason})
		default:
			answer.ids = append(answer.ids, t.id)
		}
	}
	w.tokens.Keep(token, answer)
	return w.tasksOf(c, answer), nil
}

// tasksOf returns the answer to a RunTask, with its tasks as they are now and without those that are forgotten.
func (w *ECS) tasksOf(c *cluster, a runAnswer) TaskList {
	out := TaskList{Failures: slices.Clone(a.fails)}
	for _, id := range a.ids {
		if t := c.byID[id]; t != nil {
			out.Tasks = append(out.Tasks, t.show(w.acc.Now()))
		}
	}
	return out
}

// visible tells whether a task is old enough to be shown: the API is eventually consistent.
func (w *ECS) visible(t *task) bool {
	return t != nil && w.acc.Now().Sub(t.CreatedAt) >= w.settings.Lag
}

// DescribeTasks returns up to 100 tasks; unknown and invisible ones are failures with the reason MISSING.
func (w *ECS) DescribeTasks(in DescribeTasksInput) (TaskList, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return TaskList{}, err
	}
	if n := len(in.Tasks); n < 1 || n > 100 {
		return TaskList{}, invalidParameter("1 to 100 tasks may be given, got %d.", n)
	}
	var out TaskList
	for _, arn := range in.Tasks {
		if t := c.byID[last(arn)]; w.visible(t) {
			out.Tasks = append(out.Tasks, t.show(w.acc.Now()))
		} else {
			// A task that is not visible yet looks exactly like one that does not exist.
			out.Failures = append(out.Failures, Failure{Arn: w.acc.ARN("ecs", "task/"+c.ClusterName+"/"+last(arn)),
				Reason: "MISSING"})
		}
	}
	return out, nil
}

// ListTasks returns the ARNs of tasks in pages: those with the desired status RUNNING, or with the one that the call
// states. PENDING selects by LastStatus, because no task has that desired status.
func (w *ECS) ListTasks(in ListTasksInput) (TaskArns, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return TaskArns{}, err
	}
	if in.StartedBy != "" && (in.ServiceName != "" || in.Family != "" || in.ContainerInstance != "") {
		return TaskArns{}, invalidParameter("startedBy must be the only filter.")
	}
	if in.ServiceName != "" && c.services[last(in.ServiceName)] == nil {
		return TaskArns{}, refuse("ServiceNotFoundException", "Service not found.")
	}
	wanted := cmp.Or(in.DesiredStatus, Running)
	var all []string
	for _, t := range c.tasks {
		status := t.DesiredStatus == wanted || wanted == TaskPending && t.DesiredStatus == Running &&
			t.LastStatus == TaskPending
		if w.visible(t) && status &&
			(in.ServiceName == "" || t.service != nil && t.service.ServiceName == last(in.ServiceName)) &&
			(in.Family == "" || t.definition.Family == in.Family) &&
			(in.StartedBy == "" || t.StartedBy == in.StartedBy) &&
			(in.LaunchType == "" || t.LaunchType == in.LaunchType) &&
			(in.ContainerInstance == "" || t.host != nil && last(t.host.arn) == last(in.ContainerInstance)) {
			all = append(all, t.TaskArn)
		}
	}
	n := account.Or(in.MaxResults, 100)
	if n < 1 || n > 100 {
		return TaskArns{}, invalidParameter("maxResults %d must be from 1 to 100.", n)
	}
	arns, next, err := account.Page(all, in.NextToken, n)
	return TaskArns{arns, next}, err
}

// StopTask stops a task, protected or not. The service of a task then starts another.
func (w *ECS) StopTask(in StopTaskInput) (OneTask, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return OneTask{}, err
	}
	t := c.byID[last(in.Task)]
	if t == nil {
		return OneTask{}, invalidParameter("The referenced task was not found.")
	}
	w.stop(t, "UserInitiated", cmp.Or(in.Reason, "Task stopped by user"))
	return OneTask{t.show(w.acc.Now())}, nil
}

// UpdateTaskProtection turns the protection of up to ten tasks of services on or off. It lasts two hours unless the
// call says otherwise. While as many tasks as the desired count are protected, protecting another one fails with
// DEPLOYMENT_BLOCKED; the protection of a protected task can always be extended.
func (w *ECS) UpdateTaskProtection(in ProtectTasks) (Protections, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return Protections{}, err
	}
	minutes := account.Or(in.ExpiresInMinutes, 120)
	if n := len(in.Tasks); n < 1 || n > 10 || minutes < 1 || minutes > 2880 {
		return Protections{}, invalidParameter("1 to 10 tasks may be given and expiresInMinutes from 1 to 2880, got "+
			"%d and %d.", n, minutes)
	}
	var out Protections
	for _, arn := range in.Tasks {
		t := c.byID[last(arn)]
		if failure := w.unprotectable(t, in.ProtectionEnabled); failure != "" {
			out.Failures = append(out.Failures, Failure{Arn: arn, Reason: failure})
			continue
		}
		// A call always states the whole protection: turning it off forgets the time.
		t.protection = time.Time{}
		if in.ProtectionEnabled {
			t.protection = w.acc.Now().Add(time.Duration(minutes) * time.Minute)
			w.expectExpiry(t)
		}
		w.reconcileSoon(t.service)
		out.ProtectedTasks = append(out.ProtectedTasks, ProtectedTask{t.TaskArn, in.ProtectionEnabled, t.protection})
	}
	return out, nil
}

// expectExpiry schedules a reconciliation for the end of a task's protection. A renewal schedules nothing, because
// the check at the former end schedules the next one: a worker that renews every few seconds costs one check, not
// many.
func (w *ECS) expectExpiry(t *task) {
	if !t.expiryCheck.IsZero() && !t.protection.Before(t.expiryCheck) {
		return
	}
	t.expiryCheck = t.protection
	w.acc.At(t.protection, func() {
		if t.expiryCheck = (time.Time{}); t.protected(w.acc.Now()) {
			w.expectExpiry(t)
			return
		}
		w.reconcileSoon(t.service)
	})
}

// unprotectable returns the reason why the protection of a task cannot be turned on or off; empty when it can.
func (w *ECS) unprotectable(t *task, on bool) string {
	switch {
	case t == nil || t.LastStatus == Stopped:
		return "MISSING"
	case t.service == nil:
		return "TASK_NOT_VALID"
	case !on || t.protected(w.acc.Now()):
		return ""
	}
	protected := keepTasks(t.service.tasks(), func(x *task) bool { return x.protected(w.acc.Now()) })
	if len(protected) >= t.service.DesiredCount {
		return "DEPLOYMENT_BLOCKED"
	}
	return ""
}

// GetTaskProtection returns the protection of tasks; without names, of up to 100 tasks of the cluster's services.
func (w *ECS) GetTaskProtection(in ProtectTasks) (Protections, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return Protections{}, err
	}
	if len(in.Tasks) > 100 {
		return Protections{}, invalidParameter("At most 100 tasks may be given, got %d.", len(in.Tasks))
	}
	names := in.Tasks
	if len(names) == 0 {
		for _, t := range c.tasks {
			if t.service != nil && t.LastStatus != Stopped && len(names) < 100 {
				names = append(names, t.TaskArn)
			}
		}
	}
	var out Protections
	for _, arn := range names {
		t := c.byID[last(arn)]
		if failure := w.unprotectable(t, false); failure != "" {
			out.Failures = append(out.Failures, Failure{Arn: arn, Reason: failure})
			continue
		}
		p := ProtectedTask{TaskArn: t.TaskArn, ProtectionEnabled: t.protected(w.acc.Now())}
		if p.ProtectionEnabled {
			p.ExpirationDate = t.protection
		}
		out.ProtectedTasks = append(out.ProtectedTasks, p)
	}
	return out, nil
}
