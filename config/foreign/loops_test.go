package foreign_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-scale/muster/config/foreign"
)

// Loops within loops give no more than a bound, however many elements they have.
func TestLoopsAreBounded(t *testing.T) {
	elements := strings.Repeat("a, ", 99) + "a"
	for _, row := range []struct {
		name string
		deep int
	}{{"two deep", 2}, {"deeper than allowed", 9}} {
		t.Run(row.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("Resources:\n")
			indent := "  "
			for k := range row.deep {
				fmt.Fprintf(&b, "%sFn::ForEach::L%d:\n%s  - X%d\n%s  - [%s]\n%s  -\n", indent, k, indent, k, indent, elements, indent)
				indent += "    "
			}
			b.WriteString(indent + "Q: {Type: AWS::SQS::Queue}\n")
			_, err := readText("t.yaml", []byte(b.String()))
			if err == nil || !strings.Contains(err.Error(), "gives too much; the rest is left out") {
				t.Errorf("found %v, want a note", err)
			}
		})
	}
}

func TestTheJSONSyntaxOfTerraformIsNamedAsLeftOut(t *testing.T) {
	const json = `{"resource": {"aws_sqs_queue": {"q": {"name": "jobs"}}}}`
	_, err := foreign.Read(foreign.File{Name: "infra/queues.tf.json", Text: []byte(json)})
	const want = "infra/queues.tf.json:1:1: the JSON syntax of Terraform is not read, so what infra/queues.tf.json states is left out; " +
		"what terraform show -json prints of a plan or a state has it"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("alone: %v, want %q", err, want)
	}
	r, err := foreign.Read(
		foreign.File{Name: "infra/queues.tf.json", Text: []byte(json)},
		foreign.File{Name: "infra/main.tf", Text: []byte(`
resource "aws_autoscaling_group" "workers" {
  name     = "workers"
  min_size = 0
  max_size = 9
}
resource "aws_autoscaling_policy" "cpu" {
  name                   = "cpu"
  autoscaling_group_name = aws_autoscaling_group.workers.name
  policy_type            = "TargetTrackingScaling"
  target_tracking_configuration {
    target_value = 50
    predefined_metric_specification { predefined_metric_type = "ASGAverageCPUUtilization" }
  }
}
`)})
	if err != nil || len(r.Fleets) != 1 {
		t.Fatalf("beside HCL: %v, %d fleets", err, len(r.Fleets))
	}
	if len(r.Notes) == 0 || r.Notes[len(r.Notes)-1].String() != want || !strings.Contains(string(r.YAML()), "queues.tf.json") {
		t.Errorf("beside HCL: the notes are %v", r.Notes)
	}
}
