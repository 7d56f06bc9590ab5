package kind

import (
	"slices"
	"strings"

	"github.com/muster-scale/muster/config"
)

// This file has the permissions that the calls of a kind need. A kind states them beside its calls, so that the policy
// of muster iam, the list of muster doctor and the calls themselves have one source.

// Mode is a way to run the program. It determines which calls it makes.
type Mode string

// The modes.
const (
	// ModeUp is muster up, also with its workers on this machine.
	ModeUp Mode = "up"
	// ModeWork is muster work: a worker on an instance, in a task, or anywhere else.
	ModeWork Mode = "work"
	// ModePlan is muster plan, and every other command that only reads queues and fleets.
	ModePlan Mode = "plan"
	// ModePublish is muster publish.
	ModePublish Mode = "publish"
	// ModeDoctor is muster doctor.
	ModeDoctor Mode = "doctor"
	// ModeAdvise is muster advise --cloudwatch, which reads a metric and no queue or fleet.
	ModeAdvise Mode = "advise"
)

// The modes of the functions of muster-lambda: each has the name of its function. Kinds state no permissions for them,
// because a function makes calls that another mode makes too; package deploy/iam derives them.
const (
	ModeStep          Mode = "step"
	ModeEvent         Mode = "event"
	ModePublishMetric Mode = "publish-metric"
	ModeSetTarget     Mode = "set-target"
	ModeTerminate     Mode = "terminate"
	ModeHook          Mode = "hook"
	ModeSend          Mode = "send"
)

// FunctionModes returns the modes of the functions of muster-lambda, in the order of the documentation.
func FunctionModes() []Mode {
	return []Mode{ModeStep, ModeEvent, ModePublishMetric, ModeSetTarget, ModeTerminate, ModeHook, ModeSend}
}

// Modes returns all modes of the program muster, in the order of the documentation.
func Modes() []Mode { return []Mode{ModeUp, ModeWork, ModePlan, ModePublish, ModeDoctor, ModeAdvise} }

// ModeNames returns the names of all modes, those of functions last.
func ModeNames() []string {
	var names []string
	for _, m := range append(Modes(), FunctionModes()...) {
		names = append(names, string(m))
	}
	return names
}

// Reading returns the modes that read queues and members.
func Reading() []Mode { return []Mode{ModeUp, ModePlan, ModePublish, ModeDoctor} }

// Permission allows one action of an API of AWS on some resources.
type Permission struct {
	// Action is the name of the action in IAM, as in "autoscaling:SetDesiredCapacity".
	Action string
	// On holds the ARNs of the resources. It is empty for an action that IAM cannot restrict to resources.
	On []string
	// When restricts the permission further.
	When []Condition
	// Modes are the modes that need the permission.
	Modes []Mode
	// Write tells whether the action changes something.
	Write bool
	// For names the action on whose behalf AWS itself checks this permission. It is empty for an action that the
	// program calls.
	For string
}

// Condition restricts a permission to requests whose Key matches Value by the operator Test, as in
// StringEquals cloudwatch:namespace Muster.
type Condition struct{ Test, Key, Value string }

// Permitted is implemented by what calls AWS for a fleet.
type Permitted interface {
	// Permissions returns what the calls for the fleet f need in all modes. It makes no call.
	Permissions(at Place, f config.Fleet) []Permission
}

// PermittedChannel is implemented by a channel that calls AWS.
type PermittedChannel interface {
	// Permissions returns what its calls need in all modes. It makes no call.
	Permissions() []Permission
}

// Place is where on AWS the resources of a fleet are.
type Place struct {
	// Account is the account's number of twelve digits. Region is used where the configuration names none.
	Account, Region string
}

// ARN returns the ARN of a resource, such as "task/prod/*", of a service in region; an empty region means that of the
// place.
func (p Place) ARN(service, region, resource string) string {
	if region == "" {
		region = p.Region
	}
	partition := Partition(region)
	if service == "iam" {
		region = "" // roles belong to the account
	}
	return strings.Join([]string{"arn", partition, service, region, p.Account, resource}, ":")
}

// Partition returns the part of AWS that a region belongs to, as it stands in ARNs.
func Partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// Allow returns a permission for each action, all on the same resources and in the same modes.
func Allow(modes []Mode, on []string, actions ...string) []Permission {
	var all []Permission
	for _, a := range actions {
		all = append(all, Permission{Action: a, On: on, Modes: modes})
	}
	return all
}

// AllowWrites is [Allow] for actions that change something.
func AllowWrites(modes []Mode, on []string, actions ...string) []Permission {
	all := Allow(modes, on, actions...)
	for i := range all {
		all[i].Write = true
	}
	return all
}

// WritesOf returns the actions of permissions to write that a mode needs: the list for muster doctor.
func WritesOf(all []Permission, mode Mode) []string {
	var actions []string
	for _, p := range all {
		if p.Write && slices.Contains(p.Modes, mode) {
			actions = append(actions, p.Action)
		}
	}
	return actions
}
