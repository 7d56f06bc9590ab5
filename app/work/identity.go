package work

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsautoscaling "github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/autoscaling"
	"github.com/muster-scale/muster/worker/placement"
)

const (
	// memberAuto derives the member's id from the machine or task.
	memberAuto = "auto"
	// hookAuto uses the only lifecycle hook of the group.
	hookAuto = "auto"
	// hookDir is the folder of the data directory in which the workers of an instance coordinate their hook.
	hookDir = "instance"
	// protectInstance protects the instance from scale-in. protectionDir is the folder of the data directory in which
	// its workers coordinate that.
	protectInstance, protectionDir = "instance", "protection"
	// memberVariable is where a fleet passes the name of a member.
	memberVariable = "MUSTER_MEMBER"
)

// member returns the id of the member: given or, for auto, the first of these that exists. The name from the fleet, the
// last part of the task's ARN, the instance id, or host and process id.
func (s Placement) member(ctx context.Context, given string) (string, error) {
	if given != memberAuto {
		return given, nil
	}
	if m := s.getenv(memberVariable); m != "" {
		return m, nil
	}
	if task := s.getenv("ECS_CONTAINER_METADATA_URI_V4"); task != "" {
		arn, err := placement.ECSTask(ctx, task, nil)
		return arn[strings.LastIndexByte(arn, '/')+1:], explainMember(err)
	}
	if !s.metadataDisabled() && s.onEC2() {
		id, err := placement.EC2(ctx, s.getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), nil)
		return id.Instance, explainMember(err)
	}
	return worker.DefaultMember(), nil
}

// explainMember adds to an error of the metadata what to do about it.
func explainMember(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--member auto: %w; name the member instead, or set %s", err, memberVariable)
}

// metadataDisabled tells whether the user has forbidden to use the EC2 metadata, with the variable that the AWS SDKs
// read.
func (s Placement) metadataDisabled() bool {
	return strings.EqualFold(s.getenv("AWS_EC2_METADATA_DISABLED"), "true")
}

// lifecycle sets the lifecycle hook of the instance and its scale-in protection in o. The workers of an instance
// coordinate both in the directory data.
func (s *Placement) lifecycle(ctx context.Context, o *worker.Options, configure func(context.Context) (aws.Config,
	error), data string) error {
	what := "--lifecycle-hook"
	switch {
	case s.Hook == "" && s.Protection == protectInstance:
		what = "--protection instance"
	case s.Hook == "" && s.Group == "":
		return nil
	case s.Hook == "":
		return misuse.Errorf("--auto-scaling-group: found it without --lifecycle-hook or --protection instance, " +
			"which need it; give both or neither")
	}
	looks := s.Hook == "" || s.Notices == "auto" || s.Notices == "ec2" // the hook waits for a notice
	// A hook without notices would be waited for until its timeout, so this is refused.
	if !looks || s.metadataDisabled() || !s.onEC2() && s.Notices != "ec2" {
		return misuse.Errorf("%s: found no EC2 instance that watches for notices, which it needs; leave it out, "+
			"or use --notices ec2", what)
	}
	id, err := placement.EC2(ctx, s.getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), nil)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	// The region of the instance is known even where no configuration names one.
	cfg, err := configure(ctx)
	if err != nil {
		return err
	}
	if cfg.Region == "" {
		cfg.Region = id.Region
	}
	client, of := awsautoscaling.NewFromConfig(cfg), autoscaling.Options{Instance: id.Instance, Group: s.Group}
	if s.Protection == protectInstance {
		if o.Protection, err = autoscaling.NewProtection(client, of, filepath.Join(data, protectionDir)); err != nil {
			return fmt.Errorf("--protection instance: %w; give --data a directory that all workers of this instance "+
				"may write to", err)
		}
	}
	if s.Hook == "" {
		return nil
	}
	if s.Hook != hookAuto {
		of.Name = s.Hook
	}
	hook, err := autoscaling.New(client, of)
	if err != nil {
		return misuse.Wrap(err)
	}
	// The last worker to finish completes the hook, whatever worker that is.
	shared, err := autoscaling.Share(hook, filepath.Join(data, hookDir))
	if err != nil {
		return fmt.Errorf("--lifecycle-hook: %w; give --data a directory that all workers of this instance may "+
			"write to", err)
	}
	o.Hook, s.instance = shared, id.Instance
	return nil
}
