package terraform_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/config/foreign/terraform"
)

// said renders a node: a text as it is, a reference as [resource attribute], an unknown value as <stand-in: why>.
func said(n *yaml.Node) string {
	if n == nil {
		return "nothing"
	}
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	var parts []string
	switch of := nodes.Elements(nodes.Get(n, "Fn::GetAtt")); {
	case len(of) == 2:
		return "[" + of[0].Value + " " + of[1].Value + "]"
	case nodes.Get(n, "Fn::Unknown") != nil:
		of := nodes.Elements(nodes.Get(n, "Fn::Unknown"))
		return "<" + of[0].Value + ": " + of[1].Value + ">"
	case nodes.Get(n, "Fn::Join") != nil:
		for _, p := range nodes.Elements(nodes.Elements(nodes.Get(n, "Fn::Join"))[1]) {
			parts = append(parts, said(p))
		}
		return strings.Join(parts, "")
	case n.Kind == yaml.MappingNode:
		nodes.Pairs(n, func(key, v *yaml.Node) { parts = append(parts, key.Value+"="+said(v)) })
		return "{" + strings.Join(parts, " ") + "}"
	}
	for _, e := range n.Content {
		parts = append(parts, said(e))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// properties are those of the resource of an address.
func properties(t *testing.T, address, text string) (*yaml.Node, terraform.Template) {
	t.Helper()
	of, err := terraform.Read([]terraform.File{{Name: "main.tf", Text: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return nodes.At(of.Root, "Resources", address, "Properties"), of
}

func TestExpressionsComeToWhatTerraformMakesOfThem(t *testing.T) {
	const stated = `
variable "open" {}
variable "nothing" { default = null }
variable "size" { default = 4 }
variable "prod" { default = true }
variable "map" { default = { a = { n = 1 }, b = { n = 2 } } }
variable "typed" {
  type    = object({ a = optional(number, 7), b = optional(string) })
  default = {}
}
locals {
  two   = local.one * 2
  one   = var.size + 1
  loop  = local.pool
  pool  = local.loop
  names = [for k, v in var.map : "${k}${v.n}"]
}
resource "aws_sqs_queue" "named" { name = "jobs-${var.size}" }
resource "aws_sqs_queue" "open" { name = "jobs-${var.open}" }
resource "aws_sqs_queue" "auto" {}
resource "aws_sqs_queue" "many" {
  for_each = var.map
  name     = each.key
}
resource "aws_sqs_queue" "some" {
  count = 2
  name  = "some-${count.index}"
}
`
	for _, row := range []struct{ expression, want string }{
		{`"plain"`, "plain"},
		{`12.5`, "12.5"},
		{`true`, "true"},
		{`null`, "nothing"},
		{`var.size`, "4"},
		{`local.two`, "10"},
		{`"${local.one}-${upper("x")}"`, "5-X"},
		{`var.prod ? "p" : "t"`, "p"},
		{`max(var.size, 9)`, "9"},
		{`lookup(var.map, "a").n`, "1"},
		{`lookup(var.map, "c", { n = 3 }).n`, "3"},
		{`try(var.map.c.n, 8)`, "8"},
		{`var.typed.a`, "7"},
		{`join(",", local.names)`, "a1,b2"},
		{`format("%s-%03d", "a", 7)`, "a-007"},
		{`jsonencode({ a = [1] })`, `{"a":[1]}`},
		{`aws_sqs_queue.named.name`, "jobs-4"},
		{`aws_sqs_queue.many["b"].name`, "b"},
		{`aws_sqs_queue.some[1].name`, "some-1"},
		{`join("+", aws_sqs_queue.some[*].name)`, "some-0+some-1"},
		{`aws_sqs_queue.named.arn`, "[aws_sqs_queue.named Arn]"},
		{`aws_sqs_queue.auto.name`, "[aws_sqs_queue.auto Name]"},
		{`var.open`, "<open: the variable open has no default>"},
		{`"a/${var.open}/${var.size}"`, "a/<open: the variable open has no default>/4"},
		{`aws_sqs_queue.open.name`, "jobs-<open: the variable open has no default>"},
		{`"x-${var.nothing}"`, "x-<nothing: the variable nothing is null unless it is given>"},
		{`"x-${aws_ecs_cluster.other.name}"`, "x-<name: aws_ecs_cluster.other.name is known to Terraform alone>"},
		{`data.aws_caller_identity.me.account_id`, "<account_id: data.aws_caller_identity.me.account_id is known to " +
			"Terraform alone>"},
		{`module.base.cluster`, "<base-cluster: module.base.cluster is known to Terraform alone>"},
		{`var.open == "prod" ? 10 : 2`, "<2: the variable open has no default>"},
		{`length(var.open)`, "<: the variable open has no default>"},
		{`file("x")`, `<: it is computed by Terraform alone: There is no function named "file">`},
		{`local.loop`, "<loop: the local value loop is not stated here>"},
		{`var.other`, "<other: the variable other is not declared here>"},
	} {
		t.Run(row.expression, func(t *testing.T) {
			p, _ := properties(
				t,
				"aws_sqs_queue.it",
				stated+`resource "aws_sqs_queue" "it" { visibility_timeout_seconds = `+row.expression+" }\n",
			)
			if got := said(nodes.Get(p, "VisibilityTimeoutSeconds")); got != row.want {
				t.Errorf("found %s, expected %s", got, row.want)
			}
		})
	}
}

// What is written to make a reader work without end, or fill its memory, comes to nothing in no time.
func TestWorkIsBounded(t *testing.T) {
	laughs := "locals {\n  l0 = \"ha\"\n"
	for i := range 40 {
		laughs += fmt.Sprintf("  l%d = \"${local.l%d}${local.l%d}${local.l%d}\"\n", i+1, i, i, i)
	}
	calls := ""
	for i := range 30 {
		calls += fmt.Sprintf("module \"m%d\" { source = \"../%d\" }\n", i, i)
	}
	for _, row := range []struct{ name, text string }{
		{"a text that grows", laughs + "}\nresource \"aws_sqs_queue\" \"it\" { name = local.l40 }"},
		{"loops in loops", `resource "aws_sqs_queue" "it" { name = jsonencode([for a in range(999) : [for b in range(999) : [for c in range(999) : c]]]) }`},
		{"a width", `resource "aws_sqs_queue" "it" { name = format("%999999999d", 1) }`},
		{"a replacement that multiplies",
			`resource "aws_sqs_queue" "it" { name = replace(replace(replace(replace(join("", range(900)), "1", join("", range(900))), "2", join("", range(900))), "3", join("", range(900))), "4", join("", range(900))) }`},
		{"too many instances", `resource "aws_sqs_queue" "it" { count = 1000000 }`},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, _ := properties(t, "aws_sqs_queue.it", row.text)
			if n := nodes.Get(p, "QueueName"); n != nil && nodes.Get(n, "Fn::Unknown") == nil {
				t.Errorf("found %.100s, expected a value that cannot be determined", said(n))
			}
		})
	}
	t.Run("modules that call each other", func(t *testing.T) {
		var files []terraform.File
		for i := range 30 {
			files = append(
				files, terraform.File{Name: fmt.Sprintf("%d/main.tf", i), Text: []byte(calls), Called: i > 0},
			)
		}
		if _, err := terraform.Read(files); err != nil {
			t.Error(err)
		}
	})
}

func TestAModuleIsReadWithinTheOneThatCallsIt(t *testing.T) {
	of, err := terraform.Read([]terraform.File{
		{Name: "live/prod/main.tf", Text: []byte(`
module "queue" {
  source = "../../modules/queue"
  name   = "mail"
}
module "worker" {
  source   = "../../modules/worker"
  for_each = { a = 3, b = 5 }
  queue    = module.queue.name
  most     = each.value
  extra    = module.queue.missing
}
module "far" {
  source   = "terraform-aws-modules/autoscaling/aws"
  max_size = 3
}`)},
		{Name: "modules/queue/main.tf", Called: true, Text: []byte(`
variable "name" {}
resource "aws_sqs_queue" "this" { name = var.name }
output "name" { value = "${aws_sqs_queue.this.name}-q" }`)},
		{Name: "modules/worker/main.tf", Called: true, Text: []byte(`
variable "queue" {}
variable "most" {}
variable "extra" {}
resource "aws_appautoscaling_target" "this" {
  max_capacity = var.most
  resource_id  = "service/${var.extra}/${var.queue}"
}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"module.queue.aws_sqs_queue.this": "{QueueName=mail}",
		`module.worker["a"].aws_appautoscaling_target.this`: "{MaxCapacity=3 ResourceId=service/<queue-missing: the " +
			"module has no output missing>/mail-q}",
		`module.worker["b"].aws_appautoscaling_target.this`: "{MaxCapacity=5 ResourceId=service/<queue-missing: the " +
			"module has no output missing>/mail-q}",
	} {
		if got := said(nodes.At(of.Root, "Resources", address, "Properties")); got != want {
			t.Errorf("%s: found %s, expected %s", address, got, want)
		}
	}
	if len(of.Notes) != 1 ||
		!strings.Contains(of.Notes[0].Text, "the module far (terraform-aws-modules/autoscaling/aws) is not read") {
		t.Errorf("found the notes %v, expected one on the module that is not there", of.Notes)
	}
}

func TestBlocksBecomePropertiesAsCloudFormationCallsThem(t *testing.T) {
	p, of := properties(t, "aws_appautoscaling_policy.p", `
variable "steps" { default = [{ from = 0, add = 1 }, { from = 50, add = 4 }] }
resource "aws_appautoscaling_policy" "p" {
  name       = "p"
  tags       = { a = "b" }
  depends_on = [aws_sqs_queue.x]
  step_scaling_policy_configuration {
    adjustment_type = "ChangeInCapacity"
    dynamic "step_adjustment" {
      for_each = var.steps
      iterator = s
      content {
        metric_interval_lower_bound = s.value.from
        scaling_adjustment          = s.value.add
      }
    }
  }
}
`)
	want := "{PolicyName=p StepScalingPolicyConfiguration={AdjustmentType=ChangeInCapacity " +
		"StepAdjustments=({MetricIntervalLowerBound=0 ScalingAdjustment=1}, " +
		"{MetricIntervalLowerBound=50 ScalingAdjustment=4})} PolicyType=StepScaling}"
	if got := said(p); got != want {
		t.Errorf("found    %s\nexpected %s", got, want)
	}
	if of.Words["StepAdjustments"] != "step_adjustment" {
		t.Errorf("found the words %v, expected what the author calls StepAdjustments", of.Words)
	}
	p, _ = properties(t, "aws_cloudwatch_metric_alarm.a", `
resource "aws_cloudwatch_metric_alarm" "a" {
  dimensions    = { QueueName = "q" }
  alarm_actions = ["arn"]
  metric_query {
    id = "m"
    metric {
      metric_name = "M"
      period      = 60
      stat        = "Sum"
      dimensions  = { QueueName = "q" }
    }
  }
}
`)
	want = "{Dimensions=({Name=QueueName Value=q}) AlarmActions=(arn) Metrics=({Id=m MetricStat={Period=60 Stat=Sum " +
		"Metric={MetricName=M Dimensions=({Name=QueueName Value=q})}}})}"
	if got := said(p); got != want {
		t.Errorf("found    %s\nexpected %s", got, want)
	}
}

func TestATextThatIsNotHCLIsRefusedAtItsPlace(t *testing.T) {
	_, err := terraform.Read(
		[]terraform.File{
			{Name: "a.tf", Text: []byte("locals {}\n")},
			{Name: "b.tf", Text: []byte("locals {\n  a = = 1\n}\n"), Before: 2},
		},
	)
	broken, ok := errors.AsType[*terraform.Broken](err)
	if !ok || broken.Line != 4 || broken.Column != 7 {
		t.Errorf("found %v at %+v, expected a fault in line 4, column 7", err, broken)
	}
}

// FuzzRead holds that no text of Terraform makes the reader panic.
func FuzzRead(f *testing.F) {
	f.Add(
		"resource \"aws_sqs_queue\" \"q\" {\n name = \"${var.a}-${local.b}\"\n for_each = { a = 1 }\n}\nvariable " +
			"\"a\" {}\nlocals { b = [for x in [1] : x] }",
	)
	f.Add(
		"resource \"aws_autoscaling_policy\" \"p\" {\n dynamic \"step_adjustment\" {\n for_each = [1]\n content { " +
			"scaling_adjustment = step_adjustment.value }\n }\n}",
	)
	f.Add("module \"m\" {\n source = \"./m\"\n a = aws_sqs_queue.x[0].arn\n}\noutput \"o\" { value = 1 }")
	f.Add("resource\"aws_autoscaling_policy\"\"\"{\ndynamic{}\n}") // a block without its label
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			return
		}
		of, err := terraform.Read(
			[]terraform.File{
				{Name: "main.tf", Text: []byte(text)}, {Name: "m/main.tf", Text: []byte(text), Called: true},
			},
		)
		if err == nil && of.Root == nil {
			t.Error("found neither a template nor an error")
		}
	})
}
