package ecs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/muster-scale/muster/internal/render"
)

const (
	// maxProtected bounds the tasks of one call.
	maxProtected = 10
	// protectFor is the term of a protection. renewAt is how long before its end a task counts as exposed. The term is
	// short, because a controller that is gone must not delay a deployment for days.
	protectFor = time.Hour
	renewAt    = 20 * time.Minute
)

// This file protects tasks of a service from scale-in and deployments by ECS. Protection decides which tasks ECS may
// choose when the count falls. It does not stop a person, a lost instance or a failed health check.

// expose marks the running members that ECS may stop. It makes no call unless the controller protects tasks.
func (f *Service) expose(ctx context.Context, at time.Time, s seen) error {
	if !f.o.Protect {
		return nil
	}
	var running []string
	for _, t := range s.living {
		if aws.ToString(t.LastStatus) == "RUNNING" {
			running = append(running, lastOf(t.TaskArn))
		}
	}
	until, err := f.protectedUntil(ctx, running)
	if err != nil {
		return err
	}
	for i := range s.members {
		m := &s.members[i]
		m.Exposed = !m.Ended && slices.Contains(running, m.ID) && until[m.ID].Before(at.Add(renewAt))
	}
	return nil
}

// protectedUntil returns until when tasks are protected; unprotected ones are missing.
func (f *Service) protectedUntil(ctx context.Context, ids []string) (map[string]time.Time, error) {
	until := map[string]time.Time{}
	for batch := range slices.Chunk(ids, maxDescribed) {
		out, err := f.ecs.GetTaskProtection(ctx, &ecs.GetTaskProtectionInput{Cluster: aws.String(f.cluster),
			Tasks: batch})
		if err != nil {
			return nil, f.explain("read the protection of tasks of", err)
		}
		for _, t := range out.ProtectedTasks {
			if t.ProtectionEnabled {
				until[lastOf(t.TaskArn)] = aws.ToTime(t.ExpirationDate)
			}
		}
	}
	return until, nil
}

// Protect implements [muster.Protector], for an hour. It skips tasks that do not run yet.
func (f *Service) Protect(ctx context.Context, members []string) error {
	done, err := f.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	defer f.Expect()
	return f.protection(ctx, members, true)
}

// shield protects the tasks whose protection ends within five minutes, so that all of them outlast the fall that
// follows.
func (f *Service) shield(ctx context.Context, ids []string) error {
	until, err := f.protectedUntil(ctx, ids)
	if err != nil {
		return err
	}
	soon := time.Now().Add(5 * time.Minute)
	return f.protection(ctx,
		slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return until[id].After(soon) }), true)
}

// protection protects tasks, or lifts their protection. Ended tasks are no failure.
func (f *Service) protection(ctx context.Context, ids []string, on bool) error {
	what := "lift the protection of tasks of"
	if on {
		what = "protect tasks of"
	}
	var failures []error
	for batch := range slices.Chunk(ids, maxProtected) {
		in := &ecs.UpdateTaskProtectionInput{Cluster: aws.String(f.cluster), Tasks: batch, ProtectionEnabled: on}
		if on {
			in.ExpiresInMinutes = aws.Int32(int32(protectFor / time.Minute))
		}
		out, err := f.ecs.UpdateTaskProtection(ctx, in)
		if err != nil {
			failures = append(failures, f.explain(what, err))
			continue
		}
		failures = append(failures, unprotected(what+" "+f.what, out.Failures))
	}
	return errors.Join(failures...)
}

// unprotected returns an error with the reasons why tasks of a call are not protected.
func unprotected(what string, all []types.Failure) error {
	reasons := map[string]int{}
	var order []string
	for _, x := range all {
		reason := aws.ToString(x.Reason)
		if reason == "MISSING" {
			continue // it has ended
		}
		if reasons[reason]++; reasons[reason] == 1 {
			order = append(order, reason)
		}
	}
	var failures []error
	for _, reason := range order {
		say := reason
		switch reason {
		case "DEPLOYMENT_BLOCKED":
			say = "DEPLOYMENT_BLOCKED: a deployment waits for them, or more would be protected than the service's " +
				"count; wait for the deployment, or raise the count"
		case "TASK_NOT_VALID":
			say = "TASK_NOT_VALID: only tasks of a service can be protected"
		}
		failures = append(failures, fmt.Errorf("%s: %s of %d: %s", what, render.Plural(reasons[reason], "failure"),
			len(all), say))
	}
	return errors.Join(failures...)
}
