package ecs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/muster-scale/muster/internal/awsapi"
)

// This file turns the reasons of ECS into text with advice. The texts of ECS are no contract, so advice is found by
// parts of them, and a reason without a match is passed on as it is.

// whyEnded says why a task ended. It is empty for a normal end: exit code 0, or a stop by ECS or a person.
func whyEnded(t types.Task) string {
	reason := strings.TrimRight(aws.ToString(t.StoppedReason), ".")
	switch t.StopCode {
	case types.TaskStopCodeEssentialContainerExited:
		i := slices.IndexFunc(t.Containers, func(c types.Container) bool {
			return aws.ToInt32(c.ExitCode) != 0 || c.ExitCode == nil && c.Reason != nil
		})
		if i < 0 {
			return ""
		}
		c := t.Containers[i]
		if c.ExitCode == nil {
			// It did not run, or ECS did not see its end.
			return fmt.Sprintf("its container %s ended: %s", aws.ToString(c.Name), aws.ToString(c.Reason))
		}
		return fmt.Sprintf("its container %s ended with the code %d", aws.ToString(c.Name), *c.ExitCode)
	case types.TaskStopCodeTaskFailedToStart:
		return "ECS could not start it: " + reason + remedy(reason)
	case types.TaskStopCodeSpotInterruption:
		return "its Spot capacity was taken back: " + reason
	case types.TaskStopCodeTerminationNotice:
		return "its instance ends: " + reason
	}
	if t.StopCode == types.TaskStopCodeInfrastructureHealth {
		return "its instance or host failed: " + reason
	}
	return ""
}

// refused says why ECS started fewer tasks than requested, each reason once.
func refused(failures []types.Failure) string {
	var all []string
	for _, f := range failures {
		reason := strings.TrimRight(aws.ToString(f.Reason), ".")
		if d := aws.ToString(f.Detail); d != "" {
			reason += " (" + strings.TrimRight(d, ".") + ")"
		}
		if text := reason + remedy(reason); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if more := len(all) - 3; more > 0 {
		all = append(all[:3], fmt.Sprintf("and %d more reasons", more))
	}
	return strings.Join(all, "; ")
}

// remedies say what to do about a reason of ECS, by a lower-case part of its text. The first match counts.
var remedies = [...]struct{ part, do string }{
	{"resource:cpu", "no instance of the cluster has that much CPU free: add instances, or larger ones"},
	{"resource:memory", "no instance of the cluster has that much memory free: add instances, or larger ones"},
	{"resource:eni", "no instance of the cluster has a network interface free: add instances, or larger ones, or " +
		"turn on ENI trunking"},
	{"resource:gpu", "no instance of the cluster has a GPU free: add instances"},
	{"resource:port", "a fixed host port is taken on every instance: add instances, or let ECS choose the port"},
	{"attribute", "no instance has what the task definition or a placement constraint requires: check the launch " +
		"type, the operating system and the constraints"},
	{"agent", "the agents of the instances are not connected to ECS: check the instances"},
	{"no container instances",
		"the cluster has no instances: give it some through a capacity provider, or use Fargate"},
	{"empty capacity provider", "the capacity provider has no instances and does not scale by itself: turn managed " +
		"scaling on, or state ecs.capacity"},
	{"capacity is unavailable", "AWS has no such capacity in these zones at the moment: add subnets in other zones, " +
		"or another capacity provider"},
	{"concurrent tasks", "the account's quota is used up: request a higher quota in Service Quotas, or lower max"},
	{"vcpu", "the account's quota of vCPUs is used up: request a higher quota in Service Quotas, or lower max"},
	{"location", "the task definition requires a place that the subnets do not have: check the platform version " +
		"and the zones"},
	{"cannotpullcontainer", "the image cannot be pulled: check its name, the execution role, and the route from the " +
		"subnets to the registry"},
	{"resourceinitializationerror", "a resource that the task needs before it starts is missing: check its secrets, " +
		"its " +
		"execution role and the route out of its subnets"},
	{"outofmemory", "raise the memory in the task definition"},
	{"missing", "it is gone: check the task definition and the cluster"},
	{"inactive", "it is being deleted: configure another for the fleet"},
}

// remedy returns what to do about a reason, after a colon; empty if unknown.
func remedy(reason string) string {
	small := strings.ToLower(reason)
	for _, r := range remedies {
		if strings.Contains(small, r.part) {
			return ": " + r.do
		}
	}
	return ""
}

// withRemedy adds what to do to an error of ECS about the state of the cluster.
func withRemedy(err error) error {
	e, ok := errors.AsType[*awsapi.Error](err)
	if !ok || e.Kind == awsapi.Denied || e.Kind == awsapi.Throttled || remedy(e.Message) == "" {
		return err
	}
	return fmt.Errorf("%w%s", err, remedy(e.Message))
}
