package groups

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// This file has lifecycle hooks: an instance that launches or terminates pauses for each hook of that transition,
// until a program completes the hook's action or its time is over.
//
// The life of one wait:
//
//	runHooks --> deadline in HeartbeatTimeout --> timeOut: the default result
//	                  ^             |
//	                  `- heartbeat -'   at most until the global timeout
//	                                |
//	                                `--> CompleteLifecycleAction: CONTINUE or ABANDON
//
// All results end in complete, which decides whether the instance goes on, ends or stays.

// hookWait is one lifecycle hook that pauses an instance. It ends by CompleteLifecycleAction, by its deadline with
// the hook's default result, or when the hook is deleted.
type hookWait struct {
	hook     groupapi.LifecycleHook
	token    string    // names the wait in calls; AWS sends it in the hook's notification
	deadline time.Time // a heartbeat moves it; when it passes, the default result counts
	until    time.Time // the global timeout: no heartbeat moves the deadline beyond it
	done     bool
}

// PutLifecycleHook adds a hook or changes one. Instances that wait already keep the settings that they began with.
func (w *AutoScaling) PutLifecycleHook(in groupapi.LifecycleHook) (account.Nothing, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	return account.Nothing{}, g.putHook(in)
}

// putHook adds a hook, or replaces the hook of that name, which then moves to the end of the list. A hook that is
// refused changes nothing.
func (g *group) putHook(h groupapi.LifecycleHook) error {
	k := slices.IndexFunc(g.hooks,
		func(x groupapi.LifecycleHook) bool { return x.LifecycleHookName == h.LifecycleHookName })
	if k >= 0 && h.LifecycleTransition == "" {
		h.LifecycleTransition = g.hooks[k].LifecycleTransition
	}
	if k < 0 && len(g.hooks) >= MaxHooks {
		return account.Refuse("LimitExceeded", "The limit of %d hooks is reached.", MaxHooks)
	}
	if err := h.Complete(); err != nil {
		return err
	}
	if k >= 0 {
		g.hooks = slices.Delete(g.hooks, k, k+1)
	}
	g.hooks = append(g.hooks, h)
	return nil
}

// DescribeLifecycleHooks returns the hooks of a group, all of them when none is named.
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

// DeleteLifecycleHook deletes a hook and ends its waits: launching instances as with ABANDON, all others as with
// CONTINUE.
func (w *AutoScaling) DeleteLifecycleHook(in groupapi.HookName) (account.Nothing, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
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

// runHooks pauses an instance until every hook of a transition is done, then calls next. Without hooks it calls next
// at once and leaves the state alone. Every hook begins its wait at the same time, and EventBridge hears of each.
func (w *AutoScaling) runHooks(i *instance, transition string, paused groupapi.LifecycleState, next func()) {
	i.waits = nil
	for _, h := range i.group.hooks {
		if h.LifecycleTransition == transition {
			beat := time.Duration(*h.HeartbeatTimeout) * time.Second
			i.waits = append(i.waits, &hookWait{hook: h, token: w.acc.UUID(), deadline: w.acc.Now().Add(beat),
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
		w.timeOut(i, p)
	}
	// A termination may overtake a launch that waits. The hooks of the launch must not resume it then.
	turn := i.turn
	i.next = func() {
		if i.turn == turn {
			next()
		}
	}
}

// timeOut completes a wait with the hook's default result when its deadline passes. A heartbeat has moved the
// deadline: then it checks again at the new one.
func (w *AutoScaling) timeOut(i *instance, p *hookWait) {
	w.acc.At(p.deadline, func() {
		switch {
		case p.done || !slices.Contains(i.waits, p):
		case w.acc.Now().Before(p.deadline): // a heartbeat moved the deadline
			w.timeOut(i, p)
		default:
			w.complete(i, p, p.hook.DefaultResult)
		}
	})
}

// complete ends one wait of an instance. The first ABANDON ends a launching instance; the last CONTINUE lets it go
// on. A terminating instance goes on with either result, unless its group retains instances whose hook was abandoned.
func (w *AutoScaling) complete(i *instance, p *hookWait, result string) {
	p.done = true
	g := i.group
	if result == "ABANDON" {
		// One ABANDON decides: the other hooks of the transition are not waited for.
		i.waits = nil
		switch {
		case p.hook.LifecycleTransition == groupapi.Launching:
			w.end(g, i.activity, "Cancelled", "A lifecycle hook abandoned the launch.")
			i.activity = w.begin(g, "Terminating EC2 instance: "+i.id, "an instance was taken out of service because "+
				"a lifecycle hook abandoned its launch.")
			w.move(i, groupapi.Terminating, g.machines.End, func() { w.terminated(i) })
			w.reconcileSoon(g)
			return
		case g.retains() && i.state == groupapi.TerminatingWait:
			w.end(g, i.activity, "Cancelled", "A lifecycle hook was abandoned and the instance is retained.")
			w.move(i, groupapi.TerminatingRetained, 0, nil)
			return
		}
	}
	if !slices.ContainsFunc(i.waits, func(p *hookWait) bool { return !p.done }) {
		i.waits = nil
		if next := i.next; next != nil {
			i.next = nil
			next()
		}
	}
}

// retains tells whether an instance whose termination hook was abandoned stays in Terminating:Retained until a call
// ends it.
func (g *group) retains() bool {
	p := g.InstanceLifecyclePolicy
	return p != nil && p.RetentionTriggers != nil && p.RetentionTriggers.TerminateHookAbandon == "retain"
}

// findWait finds the wait that a call names, by the hook and either the token or the instance.
func (w *AutoScaling) findWait(in groupapi.LifecycleAction) (*instance, *hookWait, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
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

// CompleteLifecycleAction ends the wait of an instance for a hook with the result CONTINUE or ABANDON.
func (w *AutoScaling) CompleteLifecycleAction(in groupapi.LifecycleAction) (account.Nothing, error) {
	if in.LifecycleActionResult != "CONTINUE" && in.LifecycleActionResult != "ABANDON" {
		return account.Nothing{}, account.Invalid("LifecycleActionResult '%s' must be CONTINUE or ABANDON.",
			in.LifecycleActionResult)
	}
	i, p, err := w.findWait(in)
	if err != nil {
		return account.Nothing{}, err
	}
	w.complete(i, p, in.LifecycleActionResult)
	return account.Nothing{}, nil
}

// RecordLifecycleActionHeartbeat moves the deadline of a wait to a full heartbeat from now, at most to its global
// timeout.
func (w *AutoScaling) RecordLifecycleActionHeartbeat(in groupapi.LifecycleAction) (account.Nothing, error) {
	_, p, err := w.findWait(in)
	if err != nil {
		return account.Nothing{}, err
	}
	p.deadline = w.acc.Now().Add(time.Duration(*p.hook.HeartbeatTimeout) * time.Second)
	if p.deadline.After(p.until) {
		p.deadline = p.until
	}
	return account.Nothing{}, nil
}

// LifecycleToken returns the token of an instance's wait for a hook; empty when it does not wait. On AWS the token
// arrives in the notification of the hook.
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
