package asg

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

func TestWhatEveryLifecycleStateMeans(t *testing.T) {
	// living counts towards the size, ending is on its way out, aside is left alone, and none is of the warm pool.
	want := map[types.LifecycleState]string{
		"Pending": "living", "Pending:Wait": "living", "Pending:Proceed": "living", "Quarantined": "living",
		"InService":           "living",
		"ReplacingRootVolume": "living", "ReplacingRootVolume:Wait": "living", "ReplacingRootVolume:Proceed": "living",
		"RootVolumeReplaced": "living",
		"Terminating":        "ending", "Terminating:Wait": "ending", "Terminating:Proceed": "ending",
		"Terminated": "ending",
		"Detaching":  "ending", "Detached": "ending",
		"Terminating:Retained": "aside", "EnteringStandby": "aside", "Standby": "aside",
	}
	for _, state := range types.LifecycleState("").Values() {
		s := surveyOf(&types.AutoScalingGroup{Instances: []types.Instance{{InstanceId: aws.String("i-1"),
			LifecycleState: state}}})
		found := "none"
		for name, n := range map[string]int{"living": len(s.living), "ending": len(s.ending), "aside": len(s.aside)} {
			if n == 1 {
				found = name
			}
		}
		expected := want[state]
		if strings.HasPrefix(string(state), "Warmed:") {
			expected = "none"
		}
		if found != expected {
			t.Errorf("an instance that is %s is taken as %s, want %q", state, found, expected)
		}
	}
}

func TestSizesAreInTheUnitsOfTheGroup(t *testing.T) {
	heavy := func(n int, weight string) (all []types.Instance) {
		for range n {
			all = append(all, types.Instance{InstanceId: aws.String("i"), LifecycleState: types.LifecycleStateInService,
				WeightedCapacity: aws.String(weight)})
		}
		return all
	}
	mixed := func(desired int32, instances []types.Instance, weights ...string) survey {
		g := &types.AutoScalingGroup{DesiredCapacity: aws.Int32(desired), Instances: instances,
			MixedInstancesPolicy: &types.MixedInstancesPolicy{LaunchTemplate: &types.LaunchTemplate{}}}
		for _, w := range weights {
			g.MixedInstancesPolicy.LaunchTemplate.Overrides = append(g.MixedInstancesPolicy.LaunchTemplate.Overrides,
				types.LaunchTemplateOverrides{WeightedCapacity: aws.String(w)})
		}
		return surveyOf(g)
	}
	for _, row := range []struct {
		name  string
		s     survey
		total int
		up    int // unitsFor
		down  int // unitsBelow
		aim   int
	}{
		{"without weights a member is a unit", mixed(3, heavy(3, "")), 5, 5, 3, 3},
		{"two more are asked for than live", mixed(5, heavy(3, "")), 2, 3, 2, 5},
		{"a further one is taken to have the least weight", mixed(8, heavy(2, "4"), "4", "2"), 4, 12, 8, 2},
		{"what is missing is counted at the least weight, rounded up", mixed(11, heavy(2, "4"), "4", "2"), 1, 8, 6, 4},
		{"a size that somebody lowered", mixed(4, heavy(3, "4"), "4"), 3, 12, 12, 1},
	} {
		if up, down, aim := row.s.unitsFor(row.total), row.s.unitsBelow(row.total), row.s.aim(); up != row.up ||
			down != row.down || aim != row.aim {
			t.Errorf("%s: for %d members %d units up, %d down and an aim of %d; want %d, %d and %d", row.name,
				row.total, up, down, aim, row.up, row.down, row.aim)
		}
	}
}

func TestGroupsThatCannotBeSized(t *testing.T) {
	for says, g := range map[string]*types.AutoScalingGroup{
		"counts vcpu":         {DesiredCapacityType: aws.String("vcpu")},
		"Delete in progress":  {Status: aws.String("Delete in progress")},
		"karpenter.sh operat": {Operator: &types.Operator{Principal: aws.String("karpenter.sh")}},
	} {
		s := surveyOf(g)
		if err := s.mayChange("size it"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("mayChange = %v, want %q in it", err, says)
		}
		if notes := strings.Join(s.notes(Options{}, ""), "\n"); !strings.Contains(notes, says) {
			t.Errorf("the notes are %q, want %q among them", notes, says)
		}
	}
	old := surveyOf(&types.AutoScalingGroup{MaxInstanceLifetime: aws.Int32(86_400),
		DesiredCapacityType: aws.String("units")})
	if err := old.mayChange("size it"); err != nil {
		t.Errorf("a group that counts instances: %v", err)
	}
	if notes := strings.Join(old.notes(Options{}, ""), "\n"); !strings.Contains(notes, "live for 24h") {
		t.Errorf("the notes are %q, want the longest life of an instance", notes)
	}
}

func TestSuspendedProcessesAreNoted(t *testing.T) {
	for process, says := range map[string]string{"Launch": "no instance starts until it is resumed",
		"Terminate": "released instances stay until it is resumed"} {
		s := surveyOf(&types.AutoScalingGroup{AutoScalingGroupName: aws.String("web"),
			SuspendedProcesses: []types.SuspendedProcess{{ProcessName: aws.String(process)}}})
		if notes := strings.Join(s.notes(Options{Protect: true}, ""), "\n"); !strings.Contains(notes, says) {
			t.Errorf("with %s suspended the notes are %q, want %q among them", process, notes, says)
		}
	}
	zones := &types.AutoScalingGroup{AutoScalingGroupName: aws.String("web"), AvailabilityZones: []string{"a", "b"},
		SuspendedProcesses: []types.SuspendedProcess{{ProcessName: aws.String("AZRebalance")}}}
	if notes := strings.Join(surveyOf(zones).notes(Options{}, ""), "\n"); strings.Contains(notes, "balance its zones") {
		t.Errorf("the notes are %q although nothing balances zones", notes)
	}
}
