package groups

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// wait is one hook that holds an instance.
type wait struct {
	hook     groupapi.LifecycleHook
	token    string
	deadline time.Time // of the heartbeat
	until    time.Time // the latest deadline
	done     bool
}

// PutLifecycleHook adds a hook or changes one.
func (w *AutoScaling) PutLifecycleHook(in groupapi.LifecycleHook) (account.Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	return account.Nothing{}, g.putHook(in)
}

func (g *group) putHook(h groupapi.LifecycleHook) error {
	if k := slices.IndexFunc(g.hooks,
		func(x groupapi.LifecycleHook) bool { return x.LifecycleHookName == h.LifecycleHookName }); k >= 0 {
		if h.LifecycleTransition == "" {
			h.LifecycleTransition = g.hooks[k].LifecycleTransition
		}
		g.hooks = slices.Delete(g.hooks, k, k+1)
	}
	if h.DefaultResult == "" {
		h.DefaultResult = "ABANDON"
	}
	if h.HeartbeatTimeout == nil {
		h.HeartbeatTimeout = account.Ptr(3600)
	}
	switch n := *h.HeartbeatTimeout; {
	case h.LifecycleHookName == "":
		return account.Invalid("LifecycleHookName is required.")
	case len(g.hooks) >= MaxHooks:
		return account.Refuse("LimitExceeded", "The limit of %d hooks is reached.", MaxHooks)
	case h.LifecycleTransition != groupapi.Launching && h.LifecycleTransition != groupapi.Ending:
		return account.Invalid("LifecycleTransition '%s' must be %s or %s.", h.LifecycleTransition,
			groupapi.Launching, groupapi.Ending)
	case n < 30 || n > 7200:
		return account.Invalid("HeartbeatTimeout %d must be from 30 to 7200 seconds.", n)
	case h.DefaultResult != "ABANDON" && h.DefaultResult != "CONTINUE":
		return account.Invalid("DefaultResult '%s' must be ABANDON or CONTINUE.", h.DefaultResult)
	}
	h.GlobalTimeout = account.Ptr(min(172_800, 100**h.HeartbeatTimeout))
	g.hooks = append(g.hooks, h)
	return nil
}

// DescribeLifecycleHooks shows the hooks of a group.
func (w *AutoScaling) DescribeLifecycleHooks(in groupapi.HookNames) (groupapi.HookList, error) {
	g, err := w.group(in.AutoScalingGroupName)
	if err != nil {
		return groupapi.HookList{}, err
	}
	var out groupapi.HookList
	for _, h := range g.hooks {
		if len(in.LifecycleHookNames) == 0 || slices.Contains(in.LifecycleHookNames, h.LifecycleHookName) {
			h.AutoScalingGroupName = in.AutoScalingGroupName
			out.LifecycleHooks = append(out.LifecycleHooks, h)
		}
	}
	return out, nil
}

// DeleteLifecycleHook removes a hook. What waits for it goes on: an instance that launches as if abandoned, any other
// as if continued.
func (w *AutoScaling) DeleteLifecycleHook(in groupapi.HookName) (account.Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	g.hooks = slices.DeleteFunc(g.hooks,
		func(h groupapi.LifecycleHook) bool { return h.LifecycleHookName == in.LifecycleHookName })
	for _, i := range slices.Clone(g.instances) {
		for _, p := range slices.Clone(i.waits) {
			if p.hook.LifecycleHookName == in.LifecycleHookName && !p.done {
				result := "CONTINUE"
				if p.hook.LifecycleTransition == groupapi.Launching {
					result = "ABANDON"
				}
				w.complete(i, p, result)
			}
		}
	}
	return account.Nothing{}, nil
}

// hold pauses an instance in a state until every hook of a transition is done; then it goes on with next. Without hooks
// it goes on at once, in the state it is in.
func (w *AutoScaling) hold(i *instance, transition string, paused groupapi.LifecycleState, next func()) {
	i.waits = nil
	for _, h := range i.group.hooks {
		if h.LifecycleTransition == transition {
			beat := time.Duration(*h.HeartbeatTimeout) * time.Second
			i.waits = append(i.waits, &wait{hook: h, token: w.acc.UUID(), deadline: w.acc.Now().Add(beat),
				until: w.acc.Now().Add(time.Duration(*h.GlobalTimeout) * time.Second)})
		}
	}
	if len(i.waits) == 0 {
		next()
		return
	}
	w.move(i, paused, 0, nil)
	kind := "EC2 Instance-launch Lifecycle Action"
	if transition == groupapi.Ending {
		kind = "EC2 Instance-terminate Lifecycle Action"
	}
	for _, p := range slices.Clone(i.waits) {
		w.acc.Tell("aws.autoscaling", kind, i.id, p.hook.LifecycleHookName)
		w.watch(i, p)
	}
	turn := i.turn
	i.next = func() {
		if i.turn == turn {
			next()
		}
	}
}

// watch gives a hook its default result when its heartbeat stops.
func (w *AutoScaling) watch(i *instance, p *wait) {
	w.acc.At(p.deadline, func() {
		switch {
		case p.done || !slices.Contains(i.waits, p):
		case w.acc.Now().Before(p.deadline): // a heartbeat came
			w.watch(i, p)
		default:
			w.complete(i, p, p.hook.DefaultResult)
		}
	})
}

// complete ends one wait of an instance. An instance that launches ends with the first ABANDON, and goes on with the
// last CONTINUE; one that ends goes on with either, and is retained if its group wants that of an ABANDON.
func (w *AutoScaling) complete(i *instance, p *wait, result string) {
	p.done = true
	g := i.group
	if result == "ABANDON" {
		i.waits = nil
		switch {
		case p.hook.LifecycleTransition == groupapi.Launching:
			w.end(g, i.activity, "Cancelled", "A lifecycle hook abandoned the launch.")
			i.activity = w.begin(g, "Terminating EC2 instance: "+i.id, "an instance was taken out of service because "+
				"a lifecycle hook abandoned its launch.")
			w.move(i, groupapi.Terminating, g.machines.End, func() { w.ended(i) })
			w.look(g)
			return
		case g.retains() && i.state == groupapi.TerminatingWait:
			w.end(g, i.activity, "Cancelled", "A lifecycle hook was abandoned and the instance is retained.")
			w.move(i, groupapi.TerminatingRetained, 0, nil)
			return
		}
	}
	if !slices.ContainsFunc(i.waits, func(p *wait) bool { return !p.done }) {
		i.waits = nil
		if next := i.next; next != nil {
			i.next = nil
			next()
		}
	}
}

func (g *group) retains() bool {
	p := g.InstanceLifecyclePolicy
	return p != nil && p.RetentionTriggers != nil && p.RetentionTriggers.TerminateHookAbandon == "retain"
}

// action finds the wait that is meant.
func (w *AutoScaling) action(in groupapi.LifecycleAction) (*instance, *wait, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range g.instances {
		for _, p := range i.waits {
			if p.hook.LifecycleHookName == in.LifecycleHookName && !p.done &&
				(p.token == in.LifecycleActionToken || in.LifecycleActionToken == "" && i.id == in.InstanceId) {
				return i, p, nil
			}
		}
	}
	which := in.LifecycleActionToken
	if which == "" {
		which = in.InstanceId
	}
	return nil, nil, account.Invalid("No active Lifecycle Action found with instance ID or token %s", which)
}

// CompleteLifecycleAction ends a wait.
func (w *AutoScaling) CompleteLifecycleAction(in groupapi.LifecycleAction) (account.Nothing, error) {
	if in.LifecycleActionResult != "CONTINUE" && in.LifecycleActionResult != "ABANDON" {
		return account.Nothing{}, account.Invalid("LifecycleActionResult '%s' must be CONTINUE or ABANDON.",
			in.LifecycleActionResult)
	}
	i, p, err := w.action(in)
	if err != nil {
		return account.Nothing{}, err
	}
	w.complete(i, p, in.LifecycleActionResult)
	return account.Nothing{}, nil
}

// RecordLifecycleActionHeartbeat begins the heartbeat's time again, up to the global timeout.
func (w *AutoScaling) RecordLifecycleActionHeartbeat(in groupapi.LifecycleAction) (account.Nothing, error) {
	_, p, err := w.action(in)
	if err != nil {
		return account.Nothing{}, err
	}
	p.deadline = w.acc.Now().Add(time.Duration(*p.hook.HeartbeatTimeout) * time.Second)
	if p.deadline.After(p.until) {
		p.deadline = p.until
	}
	return account.Nothing{}, nil
}

// LifecycleToken is the token of the wait of an instance for a hook, empty when it does not wait. AWS tells it in the
// event.
func (w *AutoScaling) LifecycleToken(instanceID, hook string) string {
	if i := w.instances[instanceID]; i != nil {
		for _, p := range i.waits {
			if p.hook.LifecycleHookName == hook && !p.done {
				return p.token
			}
		}
	}
	return ""
}
