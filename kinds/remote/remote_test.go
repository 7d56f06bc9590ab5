package remote_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/kinds/remote"
)

func TestWhatRunsOnOneMachineIsAFault(t *testing.T) {
	for fleet, want := range map[string]string{
		"queue: 'https://sqs.eu-west-1.amazonaws.com/111122223333/work', " +
			"workers: {command: [work]}": "without asg or ecs",
		"queue: work, asg: {group: web}": `found "work", allowed are queues on SQS`,
	} {
		text := []byte("version: 1\nfleets: [{name: web, max: 3, " + fleet + "}]")
		if _, err := remote.Parse("muster.yaml", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found the error %v, want one with %q", err, want)
		}
		if _, err := kinds.Parse("muster.yaml", text); err != nil {
			t.Errorf("the whole table has a fault too: %v", err)
		}
	}
}

// TestTheTableNeedsNoStorage holds that a program with this table is linked with no embedded queue.
func TestTheTableNeedsNoStorage(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("list what the table needs: %v\n%s", err, out)
	}
	found := strings.Fields(string(out))
	for _, no := range []string{"modernc.org/sqlite", "github.com/valyala/fasthttp", "github.com/hashicorp/hcl/v2",
		"github.com/muster-scale/muster/queue"} {
		if slices.Contains(found, no) {
			t.Errorf("found %s, want a table without it", no)
		}
	}
	if !slices.Contains(found, "github.com/muster-scale/muster/fleet/asg") {
		t.Errorf("found %q: the test looks in the wrong place", found)
	}
}
