package work

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/placement"
)

// taskGrace is how long messages may take in a task that is stopped, unless told otherwise: ECS waits 30 s before it
// kills, and giving back takes up to 10.
const taskGrace = 20 * time.Second

// Placement says what of its machine or task a worker goes by. Make one with [NewPlacement].
type Placement struct {
	// Notices says where notices of an end are looked for: auto, ec2, ecs or none. Protection is auto, instance or
	// none.
	Notices, Protection string
	// Hook is the name of a lifecycle hook, or auto for the only one; Group that of its Auto Scaling group. Both may be
	// empty.
	Hook, Group string
	// instance is the id of the instance that the hook keeps; it is known once [Placement.lifecycle] has put one.
	instance string
	// getenv and readFile are those of the system.
	getenv   func(name string) string
	readFile func(path string) ([]byte, error)
}

// NewPlacement returns a placement by the environment and the files of this machine.
func NewPlacement() Placement {
	return Placement{getenv: os.Getenv, readFile: os.ReadFile}
}

// Apply tells the worker where to look for notices of an end, and how to protect itself. In a task of ECS it sets the
// grace, unless that was given. Errors are about the request. It asks nothing of the network.
func (s Placement) Apply(o *worker.Options, graceGiven bool) error {
	agent, task := s.getenv("ECS_AGENT_URI"), s.getenv("ECS_CONTAINER_METADATA_URI_V4")
	disabled := s.metadataDisabled()
	ec2, ecs := s.Notices == "ec2", s.Notices == "ecs"
	switch s.Notices {
	case "auto":
		ec2, ecs = !disabled && s.onEC2(), task != ""
	case "ec2":
		if disabled {
			return misuse.Errorf("--notices ec2: found AWS_EC2_METADATA_DISABLED=true, which forbids to look there; " +
				"unset it, or use --notices none")
		}
	case "ecs":
		if task == "" {
			return misuse.Errorf("--notices ecs: found no ECS_CONTAINER_METADATA_URI_V4, which every task of ECS " +
				"has (Fargate platform 1.4, agent 1.39); use --notices auto elsewhere")
		}
	case "none":
	default:
		return misuse.Errorf("--notices: found %q, allowed is auto, ec2, ecs or none", s.Notices)
	}
	if ec2 {
		o.Notices = append(o.Notices, placement.EC2Notices{Endpoint: s.getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")})
	}
	if ecs {
		o.Notices = append(o.Notices, placement.ECSNotices{MetadataURI: task})
		if !graceGiven {
			o.Grace = taskGrace
		}
	}
	switch s.Protection {
	case "auto":
		if agent != "" && task != "" {
			o.Protection = placement.ECSProtection{AgentURI: agent, MetadataURI: task}
		}
	case protectInstance:
		if o.IdleStop <= 0 {
			return misuse.Errorf("--protection instance: found no --idle, without which the worker is never idle " +
				"and its instance protected for good; give how long it may find nothing, as in --idle 30s")
		}
	case "none":
	default:
		return misuse.Errorf("--protection: found %q, allowed is auto, instance or none", s.Protection)
	}
	return nil
}

// onEC2 tells whether this is an instance of EC2 whose metadata can be reached, without asking the network: by what the
// environment says, or by the names that the virtual machine gives itself. A Fargate task has no such metadata.
func (s Placement) onEC2() bool {
	switch {
	case s.getenv("AWS_EXECUTION_ENV") == "AWS_ECS_FARGATE":
		return false
	case s.getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT") != "":
		return true
	}
	vendor, err := s.readFile("/sys/class/dmi/id/sys_vendor")
	if err == nil && strings.TrimSpace(string(vendor)) == "Amazon EC2" {
		return true
	}
	uuid, err := s.readFile("/sys/hypervisor/uuid") // of the older instances
	return err == nil && strings.HasPrefix(string(uuid), "ec2")
}

// task is the task of Amazon ECS that this is in; it is empty elsewhere. Its name is that of the member.
func (s Placement) task(ctx context.Context) (placement.TaskIdentity, error) {
	uri := s.getenv("ECS_CONTAINER_METADATA_URI_V4")
	if uri == "" || s.Notices == "none" {
		return placement.TaskIdentity{}, nil
	}
	task, err := placement.FindECSTask(ctx, uri, nil)
	if err != nil {
		return task, fmt.Errorf("find out which task this is: %w; with --notices none and --member it need not be "+
			"known", err)
	}
	return task, nil
}

// stay waits for the end of a task that was released. A service would start another in place of one that ends by itself
// before its count is lowered.
func (s Placement) stay(ctx context.Context, log *slog.Logger) {
	if ctx.Err() != nil {
		return
	}
	log.Info("released: the task waits until its service ends it")
	ctx, done := context.WithCancel(ctx)
	defer done()
	placement.ECSNotices{MetadataURI: s.getenv("ECS_CONTAINER_METADATA_URI_V4"), Every: time.Second}.Watch(ctx,
		func(n worker.Notice, _ error) {
			if n.Kind == worker.Ending {
				done()
			}
		})
}
