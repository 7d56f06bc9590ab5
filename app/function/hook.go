package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/smithy-go"

	"github.com/muster-scale/muster/app/opening"
	"github.com/muster-scale/muster/guard"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// VariableWait is how long a deployment waits for a quiet fleet, as in 30m. After that it is rolled back. Without
	// it, the limit of ECS counts.
	VariableWait = "MUSTER_WAIT"
	// askAgain is after how many seconds ECS asks again.
	askAgain = 30
	// sinceKey is the key of the hook details that says since when a deployment waits. ECS passes it on.
	sinceKey = "muster_since"
)

// The answers to ECS.
const (
	succeeded  = "SUCCEEDED"
	inProgress = "IN_PROGRESS"
	failed     = "FAILED"
)

// Deployment is the answer to a lifecycle hook of a deployment.
type Deployment struct {
	Status string `json:"hookStatus"`
	// AskAgain is after how many seconds ECS asks again while the status is IN_PROGRESS.
	AskAgain int            `json:"callBackDelay,omitzero"`
	Details  map[string]any `json:"hookDetails,omitzero"`
	// Why says what was found. ECS ignores it.
	Why string `json:"why,omitzero"`
}

// Lifecycle is the answer for one instance that waits at a hook.
type Lifecycle struct {
	Instance string `json:"instance"`
	// Completed is true if the instance goes on; otherwise its hook was extended.
	Completed bool `json:"completed"`
	// Why says what was found.
	Why string `json:"why"`
}

// Batch is the answer to a batch of an SQS queue: the messages to deliver again.
type Batch struct {
	Failures []BatchFailure `json:"batchItemFailures"`
}

// BatchFailure names a message by its id.
type BatchFailure struct {
	ID string `json:"itemIdentifier"`
}

// hooked is a payload: the question of ECS, an event of EventBridge about an instance, or a batch of such events.
type hooked struct {
	// ECS.
	ServiceARN       string `json:"serviceArn"`
	ExecutionDetails struct {
		ServiceARN string `json:"serviceArn"`
	} `json:"executionDetails"`
	HookDetails map[string]any `json:"hookDetails"`
	// EventBridge. Time is when the action began; zero is unknown.
	Detail action    `json:"detail"`
	Time   time.Time `json:"time"`
	// SQS.
	Records []struct {
		ID   string `json:"messageId"`
		Body string `json:"body"`
	} `json:"Records"`
}

// action is an instance that waits at a hook.
type action struct {
	AutoScalingGroupName, LifecycleHookName, LifecycleActionToken, EC2InstanceID, LifecycleTransition string
}

// hooks answers lifecycle hooks.
type hooks struct {
	env     environment
	account *awsapi.Account
	fleets  []*sized
	groups  map[string]groupReports
	wait    time.Duration
}

// openHook opens the function hook. It writes nothing but the actions of the hooks.
func openHook(ctx context.Context, e environment) (invocation, error) {
	c, fleets, err := e.fleets()
	if err != nil {
		return nil, err
	}
	x := &hooks{env: e, groups: map[string]groupReports{}}
	if text := e.text(VariableWait); text != "" {
		if x.wait, err = time.ParseDuration(text); err != nil || x.wait <= 0 {
			return nil, fmt.Errorf("found %s=%q, allowed is a duration as in 30m", VariableWait, text)
		}
	}
	host := e.host(c)
	if x.account, err = host.Account(ctx); err != nil {
		return nil, err
	}
	past, err := e.history(ctx, host)
	if err != nil {
		return nil, err
	}
	if past == nil {
		past = forgetful{}
	}
	if x.fleets, err = e.open(ctx, host, fleets, past); err != nil {
		return nil, err
	}
	for _, f := range fleets {
		if group := f.Facts().Tracked.Group; group != "" && f.ReportsTable != "" {
			table, _, err := opening.Reports(ctx, host, f)
			if err != nil {
				return nil, err
			}
			x.groups[group] = groupReports{f, table}
		}
	}
	return x.take, nil
}

// take answers a payload.
func (x *hooks) take(ctx context.Context, payload []byte) (any, error) {
	var in hooked
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, fmt.Errorf("decode the question: %w", err)
	}
	switch {
	case len(in.Records) > 0:
		return x.batch(ctx, in), nil
	case in.Detail.LifecycleHookName != "":
		l, err := x.instance(ctx, in.Detail, in.Time)
		if err == nil && !l.Completed {
			// A failed invocation is repeated by Lambda, twice. A queue in between repeats for longer.
			err = fmt.Errorf("the instance %s waits: %s", l.Instance, l.Why)
		}
		return l, err
	case in.ServiceARN != "" || in.ExecutionDetails.ServiceARN != "":
		return x.deployment(ctx, in)
	}
	return nil, errors.New("found neither a deployment of ECS nor a lifecycle action of Auto Scaling")
}

// batch answers the messages of a queue. The others are delivered again after the queue's visibility timeout.
func (x *hooks) batch(ctx context.Context, in hooked) Batch {
	out := Batch{Failures: []BatchFailure{}}
	for _, r := range in.Records {
		var one hooked
		err := json.Unmarshal([]byte(r.Body), &one)
		switch {
		case err != nil || one.Detail.LifecycleHookName == "":
			// It would never be readable, so it is not delivered again.
			x.env.Logger.Error("a message is no lifecycle action", "message", r.ID, "error", err)
			continue
		}
		l, err := x.instance(ctx, one.Detail, one.Time)
		if err != nil {
			x.env.Logger.Error("a lifecycle action failed", "instance", one.Detail.EC2InstanceID, "error", err)
		}
		if err != nil || !l.Completed {
			out.Failures = append(out.Failures, BatchFailure{r.ID})
		}
	}
	return out
}

// deployment answers ECS: quiet fleets are deployed, busy and unknown ones wait.
func (x *hooks) deployment(ctx context.Context, in hooked) (Deployment, error) {
	arn := in.ServiceARN
	if arn == "" {
		arn = in.ExecutionDetails.ServiceARN
	}
	f, err := x.service(arn)
	if err != nil {
		return Deployment{}, err
	}
	now := time.Now().UTC()
	facts := guard.Facts{Fleet: f.config.Name, At: now}
	seen, err := f.loop.Preview(ctx)
	if err != nil {
		facts.Trouble = err.Error()
	} else {
		facts.At, facts.Sized = time.Now().UTC(), seen.Ready
		facts.Observation, facts.Decision = seen.Observation, seen.Decision
	}
	j := guard.Judge(facts)
	out := Deployment{Status: succeeded, Why: j.Sentence()}
	if !j.Quiet {
		out.Status, out.AskAgain, out.Details = inProgress, askAgain, in.HookDetails
		if out.Details == nil {
			out.Details = map[string]any{}
		}
		text, _ := out.Details[sinceKey].(string)
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			since = now
			out.Details[sinceKey] = now.Format(time.RFC3339)
		}
		if x.wait > 0 && now.Sub(since) >= x.wait {
			out = Deployment{Status: failed, Why: fmt.Sprintf("waited %s; %s", x.wait, out.Why)}
		}
	}
	x.env.Logger.Info("deployment", "fleet", f.config.Name, "status", out.Status, "why", out.Why)
	return out, nil
}

// service returns the fleet of a service by its ARN, which ends in CLUSTER/SERVICE.
func (x *hooks) service(arn string) (*sized, error) {
	parts := strings.Split(arn, "/")
	for _, f := range x.fleets {
		t := f.config.Facts().Tracked
		if n := len(parts); n >= 3 && t.Service != "" && last(t.Service) == parts[n-1] &&
			last(t.Cluster) == parts[n-2] {
			return f, nil
		}
	}
	return nil, fmt.Errorf("no fleet has the service %s, so nothing is known of its work", arn)
}

// last returns the last part of an ARN or a path.
func last(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// instance completes the action of an instance that is ready for it, and extends any other. began is the time at which
// the action began.
func (x *hooks) instance(ctx context.Context, a action, began time.Time) (Lifecycle, error) {
	l := Lifecycle{Instance: a.EC2InstanceID}
	g, ok := x.groups[a.AutoScalingGroupName]
	if !ok {
		return l, fmt.Errorf("no fleet with reports_from has the group %s; its hook ends by its own timeout",
			a.AutoScalingGroupName)
	}
	now := time.Now()
	entries, err := g.table.Read(ctx, g.fleet.Name, now)
	if err != nil {
		l.Why = "the reports could not be read: " + err.Error()
	} else {
		var reports []protocol.Report
		for _, e := range entries {
			if e.Report.Member == a.EC2InstanceID {
				reports = append(reports, e.Report)
			}
		}
		launching := strings.HasSuffix(a.LifecycleTransition, "LAUNCHING")
		l.Completed, l.Why = ready(reports, launching, now, began)
	}
	cfg, err := x.account.Region(kind.HomeOf(g.fleet))
	if err != nil {
		return l, err
	}
	client, what := autoscaling.NewFromConfig(cfg), "extend"
	if l.Completed {
		what = "complete"
		_, err = client.CompleteLifecycleAction(ctx, &autoscaling.CompleteLifecycleActionInput{
			AutoScalingGroupName: &a.AutoScalingGroupName, LifecycleHookName: &a.LifecycleHookName,
			InstanceId: &a.EC2InstanceID, LifecycleActionResult: aws.String("CONTINUE"),
		})
	} else {
		_, err = client.RecordLifecycleActionHeartbeat(ctx, &autoscaling.RecordLifecycleActionHeartbeatInput{
			AutoScalingGroupName: &a.AutoScalingGroupName, LifecycleHookName: &a.LifecycleHookName,
			InstanceId: &a.EC2InstanceID,
		})
	}
	if over(err) {
		// Its hook has ended, by its timeout or an earlier answer. To ask again would fail for as long as the queue
		// keeps the message.
		l.Completed, l.Why, err = true, "the instance does not wait any more", nil
	}
	x.env.Logger.Info("lifecycle action", "instance", l.Instance, "completed", l.Completed, "why", l.Why, "error", err)
	return l, awsapi.Explain(what+" the lifecycle action of the instance "+a.EC2InstanceID, cfg.Region, err)
}

// over tells whether an answer to a hook was refused because the instance does not wait any more.
func over(err error) bool {
	refused, ok := errors.AsType[smithy.APIError](err)
	return ok && refused.ErrorCode() == "ValidationError" &&
		strings.Contains(refused.ErrorMessage(), "No active Lifecycle Action")
}

// ready tells whether an instance may go on by the reports of its workers, and why. A launching instance is ready when
// its workers take messages, an ending one when they have stopped receiving since it began to end and have none in
// progress. A worker that still receives may take a message before it learns of the end. Silence is unknown, so it is
// not ready.
func ready(reports []protocol.Report, launching bool, now, began time.Time) (bool, string) {
	if len(reports) == 0 {
		return false, "no worker of the instance has reported"
	}
	for _, r := range reports {
		age := now.Sub(r.SentAt)
		switch {
		case r.Busy > 0:
			return launching, fmt.Sprintf("the worker %s has %d messages in progress", r.Worker, r.Busy)
		case !launching && r.State == protocol.Leaving && age <= leftFor:
		case age > freshFor || age < -ahead:
			return false, fmt.Sprintf("the last report of the worker %s is not recent", r.Worker)
		case !launching && (r.State == protocol.Starting || r.State == protocol.Receiving):
			return false, fmt.Sprintf("the worker %s may still take a message: it is %s", r.Worker, r.State)
		case !launching && r.SentAt.Before(began):
			return false, fmt.Sprintf("the worker %s has not reported since the instance began to end", r.Worker)
		case launching && r.State != protocol.Receiving:
			return false, fmt.Sprintf("the worker %s is %s", r.Worker, r.State)
		}
	}
	if launching {
		return true, "its workers take messages"
	}
	return true, "no message is in progress"
}
