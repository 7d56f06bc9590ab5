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

// taskGrace is the default grace in an ECS task that is stopped. ECS kills the task after 30 s, and returning messages
// takes up to 10 s.
const taskGrace = 20 * time.Second

// Placement says how a worker uses its machine or task. Make one with [NewPlacement].
type Placement struct {
	// Notices says where to watch for notices of an end: auto, ec2, ecs or none. Protection is auto, instance or none.
	Notices, Protection string
	// Hook is the name of a lifecycle hook, or auto for the only one. Group is its Auto Scaling group. Both may be
	// empty.
	Hook, Group string
	// instance is the id of the instance with the hook; [Placement.lifecycle] sets it.
	instance string
	// getenv and readFile are os.Getenv and os.ReadFile, except in tests.
	getenv   func(name string) string
	readFile func(path string) ([]byte, error)
}

// NewPlacement returns a placement with the environment and files of this machine.
func NewPlacement() Placement {
	return Placement{getenv: os.Getenv, readFile: os.ReadFile}
}

// Apply sets in o where to watch for notices of an end, and the protection of the machine or task. In an ECS task it
// sets the grace, unless graceGiven. It makes no network call. Errors are about the request.
func (s Placement) Apply(o *worker.Options, graceGiven bool) error {
	agent, task := s.getenv("ECS_AGENT_URI"), s.getenv("ECS_CONTAINER_METADATA_URI_V4")
	disabled := s.metadataDisabled()
	ec2, ecs := s.Notices == "ec2", s.Notices == "ecs"
	switch s.Notices {
	case "auto":
		ec2, ecs = !disabled && s.onEC2(), task != ""
	// A user who names a source of notices relies on it, so it must be there; auto uses what there is.
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
	// The protection itself needs a network call: lifecycle sets it up.
	case protectInstance:
		if o.IdleStop <= 0 {
			return misuse.Errorf("--protection instance: found no --idle, without which the worker never counts as " +
				"idle and protects its instance forever; give the idle time after which it stops, as in --idle 30s")
		}
	case "none":
	default:
		return misuse.Errorf("--protection: found %q, allowed is auto, instance or none", s.Protection)
	}
	return nil
}

// onEC2 tells whether this is an EC2 instance with reachable metadata, without a network call: from the environment, or
// from the vendor names of the virtual machine. A Fargate task has no such metadata.
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
	uuid, err := s.readFile("/sys/hypervisor/uuid") // older instances
	return err == nil && strings.HasPrefix(string(uuid), "ec2")
}

// task returns the ECS task of this process; empty elsewhere. The member is named after it.
func (s Placement) task(ctx context.Context) (placement.TaskIdentity, error) {
	uri := s.getenv("ECS_CONTAINER_METADATA_URI_V4")
	if uri == "" || s.Notices == "none" {
		return placement.TaskIdentity{}, nil
	}
	task, err := placement.FindECSTask(ctx, uri, nil)
	if err != nil {
		return task, fmt.Errorf("find the ECS task of this worker: %w; --notices none and --member do without it",
			err)
	}
	return task, nil
}

// stay waits until a released task is stopped. If it exited by itself before its service's count is lowered, the
// service would replace it. It polls the task metadata every second, and ends with ctx.
func (s Placement) stay(ctx context.Context, log *slog.Logger) {
	if ctx.Err() != nil {
		return
	}
	log.Info("released: the task waits until its service stops it")
	ctx, done := context.WithCancel(ctx)
	defer done()
	placement.ECSNotices{MetadataURI: s.getenv("ECS_CONTAINER_METADATA_URI_V4"), Every: time.Second}.Watch(ctx,
		func(n worker.Notice, _ error) {
			if n.Kind == worker.Ending {
				done()
			}
		})
}
