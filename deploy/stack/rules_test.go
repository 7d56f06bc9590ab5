package stack_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign"
	"github.com/muster-scale/muster/deploy/stack"
	"github.com/muster-scale/muster/deploy/stack/cloudformation"
	"github.com/muster-scale/muster/deploy/stack/terraform"
	"github.com/muster-scale/muster/kinds"
)

// texts returns the templates of all examples by the name of their golden file.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range examples() {
		for ending, write := range writers() {
			all[name+ending] = string(write(made(t, name)))
		}
	}
	return all
}

func TestNoTemplateStatesADesiredSize(t *testing.T) {
	for name, text := range texts(t) {
		for _, size := range []string{"DesiredCapacity:", "DesiredCount:", "desired_capacity =", "desired_count ="} {
			if strings.Contains(text, size) {
				t.Errorf("%s states %s a deployment would set the size back", name, size)
			}
		}
	}
}

// aligned matches an equals sign with the spaces that align it.
var aligned = regexp.MustCompile(` += `)

func TestEveryTemplateIsClosed(t *testing.T) {
	for name, text := range texts(t) {
		text = aligned.ReplaceAllString(text, " = ")
		// Each has a queue, so each says how it is encrypted. The others depend on what the example has.
		for what, needs := range map[string][]string{
			"AWS::SQS::Queue\n":                {"SqsManagedSseEnabled: true"},
			"AWS::EC2::LaunchTemplate":         {"HttpTokens: required", "Encrypted: true"},
			"AWS::AutoScaling::AutoScalingGr":  {"NewInstancesProtectedFromScaleIn: true", `["AZRebalance"]`},
			"AWS::Logs::LogGroup":              {"RetentionInDays: 30"},
			"AWS::ECS::Service":                {"AvailabilityZoneRebalancing: DISABLED"},
			`resource "aws_sqs_queue" "queue"`: {"sqs_managed_sse_enabled = true"},
			`resource "aws_launch_template"`:   {`= "required"`, "encrypted = true"},
			`resource "aws_autoscaling_group`: {"protect_from_scale_in = true",
				`suspended_processes = ["AZRebalance"]`},
			`resource "aws_cloudwatch_log_g`: {"retention_in_days = 30"},
			`resource "aws_ecs_service"`:     {`"DISABLED"`},
		} {
			for _, need := range needs {
				if strings.Contains(text, what) && !strings.Contains(text, need) {
					t.Errorf("%s has %q without %q", name, what, need)
				}
			}
		}
	}
}

func TestAPermissionOnAnyResourceSaysWhy(t *testing.T) {
	for _, name := range examples() {
		s := made(t, name)
		var all []stack.Statement
		if s.Group != nil {
			all = append(all, s.Group.Role.Statements...)
		}
		if s.Cluster != nil {
			all = slices.Concat(all, s.Cluster.TaskRole.Statements, s.Cluster.ExecutionRole.Statements)
		}
		for _, f := range s.Functions {
			all = append(all, f.Role.Statements...)
		}
		if len(all) == 0 {
			t.Errorf("%s has no permissions", name)
		}
		for _, p := range all {
			for _, a := range p.Action {
				if strings.Contains(a, "*") {
					t.Errorf("%s: %s allows %s", name, p.Sid, a)
				}
			}
			for _, r := range p.Resource {
				if r.Literals() == "*" && r.Fixed() != (p.Why != "") {
					t.Errorf("%s: %s is on any resource and does not say why", name, p.Sid)
				}
			}
		}
	}
}

func TestEveryParameterIsUsedAndHasNoDefault(t *testing.T) {
	for name, text := range texts(t) {
		if strings.Contains(text, "Default:") || strings.Contains(text, "default =") {
			t.Errorf("%s has a default", name)
		}
		example, _, _ := strings.Cut(name, ".")
		for _, p := range made(t, example).Parameters {
			if p.Description == "" {
				t.Errorf("%s: %s has no description", name, p.Name)
			}
			if strings.HasSuffix(name, ".yaml") && !strings.Contains(text, "!Ref "+p.Name) &&
				!strings.Contains(text, "${"+p.Name+"}") {
				t.Errorf("%s does not use %s", name, p.Name)
			}
		}
	}
}

// TestImportReadsATemplateBack holds that muster import understands what a template sizes a fleet by. A fleet that
// Muster sizes has no scaling policy, so there is nothing to read.
func TestImportReadsATemplateBack(t *testing.T) {
	for _, name := range []string{"s0-group", "s2-group", "s2-service"} {
		f := load(t, name).Fleets[0]
		for ending, write := range writers() {
			result, err := foreign.Read(foreign.File{Name: name + ending, Text: write(made(t, name))})
			if err != nil || len(result.Fleets) != 1 {
				t.Errorf("%s%s: found %d fleets, %v", name, ending, len(result.Fleets), err)
				continue
			}
			got, tracked := result.Fleets[0], f.Facts().Tracked
			spec := got.Spec()
			type fleet struct {
				name, group, cluster, service, queue string
				min, max                             int
				boot                                 time.Duration
				target                               float64
			}
			boot := f.Workers.Boot
			if tracked.Group == "" {
				boot = 0 // a service has no warm-up
			}
			read := fleet{got.Name, got.Group, got.Cluster, got.Service, got.QueueNames()[0], got.Min, got.Max,
				got.Boot, max(spec.Target, spec.Acceptable)}
			want := fleet{f.Name, tracked.Group, tracked.Cluster, tracked.Service, f.Queues[0].Name, f.Limits.Min,
				f.Limits.Max, boot, max(f.Policy.Target, f.Policy.Acceptable)}
			if read != want {
				t.Errorf("%s%s: read %+v, want %+v", name, ending, read, want)
			}
			wanted := "metric-math" // worker-utilization in AWS's own words
			if f.Policy.Name == "dynamic-backlog" {
				wanted = f.Policy.Name
			}
			if spec.Name != wanted {
				t.Errorf("%s%s: read the policy %s, want %s", name, ending, spec.Name, wanted)
			}
		}
	}
}

// TestArgumentsAreThoseOfTheProvider checks names of blocks and attributes against a table of those that the AWS
// provider has. Terraform itself checks them too, in make interop, where it is installed with the provider.
func TestArgumentsAreThoseOfTheProvider(t *testing.T) {
	table := map[string][]string{}
	text, err := os.ReadFile(filepath.Join("testdata", "provider.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if block, names, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			table[block] = strings.Fields(names)
		}
	}
	var check func(name, path string, b *hclsyntax.Body)
	check = func(name, path string, b *hclsyntax.Body) {
		known, ok := table[path]
		if !ok {
			t.Errorf("%s: %s is not in testdata/provider.txt", name, path)
		}
		for a := range b.Attributes {
			if a == "for_each" {
				continue // of the language itself
			}
			if !slices.Contains(known, a) {
				t.Errorf("%s: %s has no argument %s", name, path, a)
			}
		}
		for _, inner := range b.Blocks {
			if inner.Type == "lifecycle" {
				continue // of the language itself
			}
			check(name, path+"."+inner.Type, inner.Body)
		}
	}
	for name, text := range texts(t) {
		if !strings.HasSuffix(name, ".tf") {
			continue
		}
		file, faults := hclsyntax.ParseConfig([]byte(text), name, hcl.InitialPos)
		if faults.HasErrors() {
			t.Fatal(faults)
		}
		for _, b := range file.Body.(*hclsyntax.Body).Blocks {
			if b.Type == "resource" {
				check(name, b.Labels[0], b.Body)
			}
		}
	}
}

// withoutHead returns the resources of a template.
func withoutHead(text []byte) []byte { return text[bytes.Index(text, []byte("\nResources:")):] }

// TestANameStaysAName holds that no text of a configuration becomes a function, a member or an expression.
func TestANameStaysAName(t *testing.T) {
	const odd = `a${AWS::Region} "b" %{if} 'c': [d] # e`
	c := load(t, "s2-group")
	s, err := stack.Make(c, kinds.Table(), "", stack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Group.Name = odd
	var template map[string]map[string]map[string]any
	if err := yaml.Unmarshal(withoutHead(cloudformation.Write(s)), &template); err != nil {
		t.Fatal(err)
	}
	properties := template["Resources"]["Group"]["Properties"].(map[string]any)
	if got := properties["AutoScalingGroupName"]; got != odd {
		t.Errorf("found the name %q, want %q", got, odd)
	}
	file, faults := hclsyntax.ParseConfig(terraform.Write(s), "main.tf", hcl.InitialPos)
	if faults.HasErrors() {
		t.Fatal(faults)
	}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		if b.Type == "resource" && b.Labels[0] == "aws_autoscaling_group" {
			v, faults := b.Body.Attributes["name"].Expr.Value(nil)
			if faults.HasErrors() || v.AsString() != odd {
				t.Errorf("found the name %#v, %v", v, faults)
			}
		}
	}
}

func TestAWarmPoolMakesAllInstancesOnDemand(t *testing.T) {
	c := parse(t, `
version: 1
fleets:
  - name: renders
    queue: https://sqs.eu-west-1.amazonaws.com/123456789012/renders
    max: 20
    policy: {name: backlog-per-worker, acceptable: 5}
    asg: {group: renders, reports: none, warm_pool: {size: 3, reuse: true}}
`)
	s, err := stack.Make(c, kinds.Table(), "renders", stack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Group.Pool; p == nil || p.Size != 3 || p.State != "Stopped" || !p.Reuse {
		t.Errorf("found the pool %+v", p)
	}
	i := slices.IndexFunc(s.Parameters, func(p stack.Parameter) bool { return p.Name == "OnDemandShare" })
	if p := s.Parameters[i]; p.Min != 100 || p.Max != 100 {
		t.Errorf("found %+v, want 100 alone: AWS refuses a warm pool of a group with Spot instances", p)
	}
	for ending, write := range writers() {
		if text := string(write(s)); !strings.Contains(text, "MaxGroupPreparedCapacity: 3") &&
			!strings.Contains(text, "max_group_prepared_capacity = 3") {
			t.Errorf("%s has no pool of 3", ending)
		}
	}
}

// TestWhatATemplateCannotSayIsRefused holds that each refusal names the key and what to do.
func TestWhatATemplateCannotSayIsRefused(t *testing.T) {
	const sqs = "https://sqs.eu-west-1.amazonaws.com/123456789012/"
	fleet := func(name, queue, rest string) string {
		return "{name: " + name + ", queue: '" + queue + "', max: 5, " + rest + "}"
	}
	for want, text := range map[string]string{
		"is not on SQS: state its URL":           fleet("a", "a", "asg: {group: g}"),
		"templates are for fleets with asg or":   fleet("a", sqs+"a", "workers: {command: [./x]}"),
		"state listen.beyond with api and hosts": fleet("a", sqs+"a", "asg: {group: g}"),
		"found 2 fleets, a template has one": fleet("a", sqs+"a", "asg: {group: g}") + ", " +
			fleet("b", sqs+"b", "asg: {group: h}"),
		"needs launch_type: fargate or only": fleet("a", sqs+"a", "ecs: {cluster: c, task_definition: t}"),
		"needs policy.acceptable: with metric: m": fleet("a", sqs+"a", "policy: dynamic-backlog, "+
			"asg: {group: g, reports: none}, delegate: {metric: math}"),
		"a template makes things in one place": "{name: a, queues: ['" + sqs + "a', '" +
			"https://sqs.eu-west-1.amazonaws.com/999999999999/b'], max: 5, asg: {group: g}}",
	} {
		_, err := stack.Make(parse(t, "version: 1\nfleets: ["+text+"]"), kinds.Table(), "", stack.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, want %q", text, err, want)
		}
	}
}

// TestAKindStatesItsResources holds that the fleets on AWS have a blueprint, so that a new kind is not forgotten.
func TestAKindStatesItsResources(t *testing.T) {
	for _, name := range examples() {
		if s := made(t, name); s.Group == nil && s.Cluster == nil || len(s.Queues) == 0 {
			t.Errorf("%s has no members or no queue", name)
		}
	}
}
