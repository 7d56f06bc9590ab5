package endtoend_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/deploy/stack"
	"github.com/muster-scale/muster/deploy/stack/cloudformation"
	"github.com/muster-scale/muster/fleet/delegate"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/policy"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/scaling"
)

// resolved returns a node of a template as JSON would have it, with values for parameters and other resources.
func resolved(n *yaml.Node, values map[string]any) any {
	switch n.Tag {
	case "!Ref":
		return values[n.Value]
	case "!GetAtt":
		return n.Value
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = resolved(n.Content[i+1], values)
		}
		return m
	case yaml.SequenceNode:
		l := []any{}
		for _, c := range n.Content {
			l = append(l, resolved(c, values))
		}
		return l
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return n.Value // a function's text
	}
	return v
}

// resource decodes the properties of a resource of a template into the input of the call that makes it.
func (s *stage) resource(text []byte, name string, values map[string]any, in any) {
	s.t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		s.t.Fatal(err)
	}
	all := resolved(root.Content[0], values).(map[string]any)["Resources"].(map[string]any)
	properties := maps.Clone(all[name].(map[string]any)["Properties"].(map[string]any))
	for _, other := range []string{"MetricsCollection", "Tags"} {
		delete(properties, other) // a call of its own, and what the model does not have
	}
	encoded, err := json.Marshal(properties)
	if err != nil {
		s.t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(encoded)))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		s.t.Fatalf("%s: %v in %s", name, err, encoded)
	}
}

// TestTheGroupOfATemplateRunsToItsEnd makes the group and the scaling policy that a template states: Spot instances by
// their attributes, protected from their launch on. Muster then moves the target of that policy, and puts no second
// one.
func TestTheGroupOfATemplateRunsToItsEnd(t *testing.T) {
	c, err := kinds.Parse("muster.yaml", []byte(`
version: 1
fleets:
  - name: work
    queue: https://sqs.eu-west-1.amazonaws.com/000000000000/work
    objective: {latency: 300s}
    max: 20
    policy: {name: dynamic-backlog, acceptable: 12}
    asg: {group: workers, reports: none}
    metrics: {processing: {namespace: Muster, metric: MPD, dimensions: [Fleet=work]}}
    delegate: {change: 20, every: 5m}
    workers: {boot: 60s}
`))
	if err != nil {
		t.Fatal(err)
	}
	made, err := stack.Make(c, kinds.Table(), "work", stack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := cloudformation.Write(made)
	onAWS(t, func(s *stage) {
		s.takes = 50 * time.Second
		values := map[string]any{"SubnetIds": "subnet-1", "LaunchTemplate": "lt-1", "Group": "workers", "MinVCpus": 2,
			"MaxVCpus": 4, "MinMemory": 2048, "OnDemandShare": 0}
		s.do(func(w *model.World) error {
			var group groupapi.CreateGroup
			s.resource(text, "Group", values, &group)
			group.AvailabilityZones, group.VPCZoneIdentifier = []string{region + "a"}, "" // the model has no subnets
			if _, err := w.AutoScaling().CreateAutoScalingGroup(group); err != nil {
				return err
			}
			if _, err := w.AutoScaling().EnableMetricsCollection(groupapi.GroupMetrics{AutoScalingGroupName: "workers",
				Granularity: "1Minute"}); err != nil {
				return err
			}
			var tracking scaling.PutPolicy
			s.resource(text, "ScalingPolicy", values, &tracking)
			tracking.PolicyName = "stack-ScalingPolicy-1X2Y3Z"
			_, err := w.GroupPolicies().PutScalingPolicy(tracking)
			return err
		})
		s.delegateGroup(policy.Spec{Name: "dynamic-backlog", Processing: s.takes},
			delegate.Options{Formula: delegate.BacklogPerWorker, ChangePercent: 20})
		pass(3 * time.Minute)
		if got := s.target(); got != 6 {
			t.Errorf("the target of the template's policy is %g, want 6 for messages of 50 s", got)
		}
		s.send(50)
		if most := s.peak(40 * time.Minute); most < 8 || most > 10 {
			t.Errorf("at most %d instances worked, want about 8", most)
		}
		pass(20 * time.Minute) // longer than AWS waits before it scales in
		if n := s.serving(); n < 8 {
			t.Errorf("%d instances are left while all are protected, want all", n)
		}
		// Idle workers lift their protection; then the group ends them.
		s.do(func(w *model.World) error {
			lifted := false
			_, err := w.AutoScaling().SetInstanceProtection(groupapi.SetProtection{AutoScalingGroupName: "workers",
				InstanceIds: instances(w, "workers"), ProtectedFromScaleIn: &lifted})
			return err
		})
		s.until("empty", 60*time.Minute, func() bool { return s.serving() == 0 })
	})
}
