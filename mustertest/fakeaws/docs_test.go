package fakeaws

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/sim/cloud/account"
)

func TestTheDocumentationTellsEveryAction(t *testing.T) {
	const path = "../../docs/aws-model.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, service := range map[string]account.API{"EC2 Auto Scaling": account.AutoScalingService,
		"Amazon ECS":               account.ECSService,
		"Application Auto Scaling": account.ApplicationScalingService, "CloudWatch": account.CloudWatchService,
		"Amazon SQS": account.SQSService} {
		_, rest, found := strings.Cut(string(text), "| "+name+" |")
		row, _, _ := strings.Cut(rest, "\n")
		want := "`" + strings.Join(slices.Sorted(maps.Keys(actions(service))), "` `") + "` |"
		if !found || !strings.HasSuffix(row, "| "+want) {
			t.Errorf("%s: the actions of %s are not\n%s", path, name, want)
		}
	}
}
