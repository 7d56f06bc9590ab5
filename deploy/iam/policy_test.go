package iam_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/deploy/iam"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
)

var update = flag.Bool("update", false, "write the golden files and the table of the documentation anew")

const account = "123456789012"

// fleets are configurations of all kinds. Each begins after the name, queue and objective.
var fleets = map[string]string{
	"group":             "asg: {group: web, warm_pool: {size: 2}}",
	"group-table":       "asg: {group: web, reports: none}, reports_from: dynamodb:reports",
	"group-delegated":   "asg: {group: web}, delegate: {}",
	"service":           "ecs: {cluster: prod, service: web, capacity: {group: hosts, tasks_per_instance: 2}}",
	"service-delegated": "ecs: {cluster: prod, service: web}, delegate: {}",
	"tasks": "ecs: {cluster: prod, task_definition: work, launch_type: fargate, " +
		"network: {subnets: [subnet-1]}}",
	"local": "workers: {command: [./x], report: [cloudwatch, 'dynamodb:reports'], lifecycle_hook: auto, " +
		"max_attempts: 3, dead_letter: 'https://sqs.eu-west-1.amazonaws.com/" + account + "/dead'}",
}

// parse reads a configuration of one fleet; queue is its name or URL.
func parse(t *testing.T, queue, fleet string) *config.Config {
	t.Helper()
	policy := "{name: dynamic-backlog, processing: 25s}"
	if strings.Contains(fleet, "task_definition") {
		policy = "exact"
	}
	c, err := kinds.Parse("m.yaml", []byte(fmt.Sprintf("version: 1\nfleets: [{name: web, queue: %q, max: 9, "+
		"objective: {latency: 300s}, policy: %s, %s}]", queue, policy, fleet)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const onSQS = "https://sqs.eu-west-1.amazonaws.com/" + account + "/work"

// make returns the policy of a mode.
func policy(t *testing.T, mode kind.Mode, queue, fleet string, o iam.Options) iam.Policy {
	t.Helper()
	o.Mode = mode
	p, err := iam.Make(parse(t, queue, fleet), kinds.Table(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPoliciesAreWhatTheyWere(t *testing.T) {
	for _, name := range []string{"group", "service-delegated", "tasks"} {
		golden(t, "up-"+name, policy(t, kind.ModeUp, onSQS, fleets[name], iam.Options{}))
	}
	golden(t, "work-group", policy(t, kind.ModeWork, onSQS, fleets["group"], iam.Options{Workers: iam.Flags{
		Reports: []string{"cloudwatch:App"}, LifecycleHook: true}}))
	golden(t, "doctor-group", policy(t, kind.ModeDoctor, onSQS, fleets["group"], iam.Options{}))
}

// golden compares a policy with its file, one line for each action on its resources.
func golden(t *testing.T, name string, p iam.Policy) {
	t.Helper()
	var b strings.Builder
	for _, s := range p.Statement {
		fmt.Fprintf(&b, "%s\n", s.Sid)
		for _, a := range s.Action {
			fmt.Fprintf(&b, "  %s\n", a)
		}
		for _, r := range s.Resource {
			fmt.Fprintf(&b, "    on %s\n", r)
		}
		for _, test := range slices.Sorted(maps.Keys(s.Condition)) {
			for _, key := range slices.Sorted(maps.Keys(s.Condition[test])) {
				fmt.Fprintf(&b, "    when %s %s %s\n", test, key, strings.Join(s.Condition[test][key], ", "))
			}
		}
	}
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s: found\n%s\nwant\n%s\ngo test ./deploy/iam -update writes it anew", name, b.String(), want)
	}
}

// unrestrictable are the actions for which IAM accepts no resource but *, by the service authorization reference of
// AWS.
var unrestrictable = []string{
	"application-autoscaling:DescribeScalableTargets", "application-autoscaling:DescribeScalingPolicies",
	"autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeAutoScalingInstances",
	"autoscaling:DescribeInstanceRefreshes", "autoscaling:DescribeLifecycleHooks", "autoscaling:DescribePolicies",
	"autoscaling:DescribeScalingActivities", "autoscaling:DescribeWarmPool", "cloudwatch:GetMetricData",
	"cloudwatch:PutMetricData", "ecs:ListTasks",
}

// each calls f with every policy of every mode.
func each(t *testing.T, f func(name string, p iam.Policy)) {
	for _, name := range slices.Sorted(maps.Keys(fleets)) {
		for _, mode := range kind.Modes() {
			if mode == kind.ModeAdvise && (name == "local" || name == "tasks") {
				continue // CloudWatch has no CPUUtilization of them
			}
			f(name+" "+string(mode), policy(t, mode, onSQS, fleets[name], iam.Options{Workers: iam.Flags{
				Reports: []string{"cloudwatch"}, LifecycleHook: true, Protection: true}}))
		}
	}
	p, err := iam.Make(telling(t), kinds.Table(), iam.Options{Mode: kind.ModeUp})
	if err != nil {
		t.Fatal(err)
	}
	f("notices up", p)
}

// topic is that of the configuration that telling returns.
const topic = "arn:aws:sns:eu-west-1:" + account + ":alarms"

// telling returns a configuration that tells a topic and a command of incidents.
func telling(t *testing.T) *config.Config {
	t.Helper()
	c, err := kinds.Parse("m.yaml", []byte("version: 1\nnotify: [{sns: {topic: '"+topic+"'}}, {command: [./x]}]\n"+
		"fleets: [{name: web, queue: '"+onSQS+"', max: 9, asg: {group: web}}]"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNoStatementAllowsAnyResourceUnlessIAMKnowsNone(t *testing.T) {
	each(t, func(name string, p iam.Policy) {
		for _, s := range p.Statement {
			for _, r := range s.Resource {
				for _, a := range s.Action {
					if (r == "*") != slices.Contains(unrestrictable, a) {
						t.Errorf("%s: %s is allowed on %s", name, a, r)
					}
				}
			}
			if s.Resource[0] == "*" && s.Condition == nil && !strings.Contains(s.Sid, "NoResourceLevel") {
				t.Errorf("%s: the name %s does not say why the resource is *", name, s.Sid)
			}
		}
	})
}

func TestAPolicyIsWhatIAMAccepts(t *testing.T) {
	each(t, func(name string, p iam.Policy) {
		seen := map[string]bool{}
		for _, s := range p.Statement {
			if s.Effect != "Allow" || len(s.Action) == 0 || len(s.Resource) == 0 || seen[s.Sid] ||
				strings.Trim(s.Sid, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
				t.Errorf("%s: found the statement %+v; a name occurs once and has letters and digits", name, s)
			}
			seen[s.Sid] = true
			for _, a := range s.Action {
				if strings.Contains(a, "*") {
					t.Errorf("%s: found the action %s; no action may be a pattern", name, a)
				}
			}
		}
		if p.Version != "2012-10-17" || p.Size() > iam.MaxSize {
			t.Errorf("%s: found the version %s and %d characters", name, p.Version, p.Size())
		}
		text, err := json.Marshal(p)
		if err != nil || strings.Contains(string(text), `"Condition":null`) {
			t.Errorf("%s: %v, in %s", name, err, text)
		}
	})
}

func TestCommandsThatReadMayNotWrite(t *testing.T) {
	for name, fleet := range fleets {
		for _, mode := range []kind.Mode{kind.ModePlan, kind.ModeDoctor} {
			for _, s := range policy(t, mode, onSQS, fleet, iam.Options{}).Statement {
				for _, a := range s.Action {
					_, verb, _ := strings.Cut(a, ":")
					if !strings.HasPrefix(verb, "Describe") && !strings.HasPrefix(verb, "Get") &&
						!strings.HasPrefix(verb, "List") && verb != "Query" {
						t.Errorf("%s, %s: %s is allowed", name, mode, a)
					}
				}
			}
		}
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	for _, row := range []struct {
		name, queue, fleet string
		o                  iam.Options
		named, want        string
	}{
		{"an unknown mode", onSQS, fleets["group"], iam.Options{Mode: "down"}, "",
			`--mode: found "down", allowed is up, work, plan, publish, doctor, advise, step`},
		{"an unknown fleet", onSQS, fleets["group"], iam.Options{Mode: kind.ModeUp}, "x",
			`found no fleet "x" in the configuration`},
		{"no account", "work", "asg: {group: web, region: eu-west-1}", iam.Options{Mode: kind.ModeUp}, "",
			"nothing names the account: give its twelve digits with --account"},
		{"a wrong account", "work", "asg: {group: web, region: eu-west-1}", iam.Options{Mode: kind.ModeUp,
			Account: "12"}, "", "found \"12\", allowed are the twelve digits"},
		{"no region", "work", "asg: {group: web}", iam.Options{Mode: kind.ModeUp, Account: account}, "",
			"nothing names the region: give it with --region"},
		{"a report that is none", onSQS, fleets["group"], iam.Options{Mode: kind.ModeWork, Workers: iam.Flags{
			Reports: []string{"http"}}}, "", `--report: found "http", allowed is cloudwatch[:NAMESPACE] or dynamodb:TABLE`},
	} {
		var named []string
		if row.named != "" {
			named = []string{row.named}
		}
		_, err := iam.Make(parse(t, row.queue, row.fleet), kinds.Table(), row.o, named...)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: found %v, want %q", row.name, err, row.want)
		}
	}
}

func TestAPolicyThatNoRoleMayHaveIsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\nfleets:\n")
	for i := range 200 {
		fmt.Fprintf(&b, "  - {name: f%d, queue: '%s%d', max: 9, objective: {latency: 300s}, asg: {group: g%d}}\n", i,
			onSQS, i, i)
	}
	c, err := kinds.Parse("m.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = iam.Make(c, kinds.Table(), iam.Options{Mode: kind.ModeUp})
	if err == nil || !strings.Contains(err.Error(), "a role may have 10240: make one for each role") {
		t.Errorf("found %v", err)
	}
	p, err := iam.Make(c, kinds.Table(), iam.Options{Mode: kind.ModeUp}, "f7")
	if err != nil || p.Size() > iam.MaxSize/5 {
		t.Errorf("found %d characters for one fleet, %v", p.Size(), err)
	}
}

func TestARegionDeterminesThePartition(t *testing.T) {
	for region, want := range map[string]string{"eu-west-1": "aws", "cn-north-1": "aws-cn",
		"us-gov-west-1": "aws-us-gov"} {
		p := policy(t, kind.ModeUp, "work", "asg: {group: web}", iam.Options{Account: account, Region: region})
		arn := "arn:" + want + ":autoscaling:" + region + ":" + account + ":autoScalingGroup:*:autoScalingGroupName/web"
		if !slices.ContainsFunc(p.Statement, func(s iam.Statement) bool { return slices.Contains(s.Resource, arn) }) {
			t.Errorf("found %+v, want a statement on %s", p.Statement, arn)
		}
	}
}

func TestAdviceMayReadMetricsAndNothingElse(t *testing.T) {
	for name, want := range map[string]string{"group": "[cloudwatch:GetMetricData] on [*]",
		"service": "[cloudwatch:GetMetricData] on [*]", "tasks": "calls nothing", "local": "calls nothing"} {
		p, err := iam.Make(parse(t, onSQS, fleets[name]), kinds.Table(), iam.Options{Mode: kind.ModeAdvise})
		got := fmt.Sprint(err)
		for _, s := range p.Statement {
			got += fmt.Sprint(s.Action, " on ", s.Resource)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: found %s, want %s", name, got, want)
		}
	}
}

func TestOnlyNamedRolesArePassedToTasks(t *testing.T) {
	role := "arn:aws:iam::" + account + ":role/task"
	p := policy(t, kind.ModeUp, onSQS, fleets["tasks"], iam.Options{PassRoles: []string{role}})
	for _, s := range p.Statement {
		if slices.Contains(s.Action, "iam:PassRole") && !slices.Equal(s.Resource, []string{role}) {
			t.Errorf("found iam:PassRole on %q, want on %s alone", s.Resource, role)
		}
	}
}

func TestAConfigurationOffAWSNeedsNoPolicy(t *testing.T) {
	for _, queue := range []string{"work", "http://127.0.0.1:9324/000000000000/work"} {
		_, err := iam.Make(parse(t, queue, "workers: {command: [./x]}"), kinds.Table(), iam.Options{Mode: kind.ModeUp})
		if err == nil || !strings.Contains(err.Error(), "calls nothing on AWS, so no policy is needed") {
			t.Errorf("%s: found %v", queue, err)
		}
	}
}

func TestOnlyUpMayReceiveEvents(t *testing.T) {
	const events = "https://sqs.eu-west-1.amazonaws.com/" + account + "/events"
	for _, c := range []struct {
		queue string
		mode  kind.Mode
		want  string
	}{
		{events, kind.ModeUp, "[arn:aws:sqs:eu-west-1:" + account + ":events] [sqs:DeleteMessage sqs:ReceiveMessage]"},
		{events, kind.ModeDoctor, ""},
		{"http://127.0.0.1:4566/000000000000/events", kind.ModeUp, ""},
	} {
		conf, err := kinds.Parse("m.yaml", []byte("version: 1\nevents: [{queue: '"+c.queue+"'}]\nfleets: [{name: web, "+
			"queue: work, max: 9, workers: {command: [./x]}}]"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := iam.Make(conf, kinds.Table(), iam.Options{Mode: c.mode})
		got := ""
		for _, s := range p.Statement {
			got += fmt.Sprint(s.Resource, " ", s.Action)
		}
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s of %s: allows %q, %v; want %q", c.mode, c.queue, got, err, c.want)
		}
	}
}

func TestOnlyUpMayPublishNotices(t *testing.T) {
	for _, mode := range kind.Modes() {
		p, err := iam.Make(telling(t), kinds.Table(), iam.Options{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(p.Statement, func(s iam.Statement) bool {
			return fmt.Sprint(s.Action, s.Resource) == "[sns:Publish] ["+topic+"]"
		})
		if found != (mode == kind.ModeUp) {
			t.Errorf("%s: found %v that it may publish to the topic", mode, found)
		}
	}
}

func TestAnOptionThatWouldGiveAPolicyThatIsNotSufficientIsRefused(t *testing.T) {
	conf := parse(t, onSQS, fleets["group"])
	for want, o := range map[string]iam.Options{
		"--pass-role: found \"tasks\"":                {Mode: kind.ModeUp, PassRoles: []string{"tasks"}},
		"step keeps its history in a table: name it":  {Mode: kind.ModeStep},
		"event keeps its history in a table: name it": {Mode: kind.ModeEvent},
		"--report: found \"x\", allowed is cloudwatch[:": {Mode: kind.ModeWork,
			Workers: iam.Flags{Reports: []string{"x"}}},
	} {
		if _, err := iam.Make(conf, kinds.Table(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, want %q in it", err, want)
		}
	}
}

// TestThePageListsEveryAction holds the table of docs/iam.md to the permissions of all kinds.
func TestThePageListsEveryAction(t *testing.T) {
	modes, on := map[string]map[kind.Mode]bool{}, map[string]map[string]bool{}
	each(t, func(name string, p iam.Policy) {
		_, mode, _ := strings.Cut(name, " ")
		for _, s := range p.Statement {
			for _, a := range s.Action {
				key := a
				if _, of, found := strings.Cut(s.Sid, "For"); found {
					key += " for " + strings.TrimRight(of, "0123456789")
				}
				if modes[key] == nil {
					modes[key], on[key] = map[kind.Mode]bool{}, map[string]bool{}
				}
				modes[key][kind.Mode(mode)] = true
				for _, r := range s.Resource {
					on[key][resource(r, s)] = true
				}
			}
		}
	})
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(modes)) {
		var names []string
		for _, m := range kind.Modes() {
			if modes[key][m] {
				names = append(names, string(m))
			}
		}
		action, of, found := strings.Cut(key, " for ")
		text := "`" + action + "`"
		if found {
			text += ", for " + of
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", text, strings.Join(slices.Sorted(maps.Keys(on[key])), "; "),
			strings.Join(names, ", "))
	}
	const page, head = "../../docs/iam.md", "|---|---|---|\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "| action | resource | modes |\n"+head)
	if !ok {
		t.Fatalf("%s has no table of actions", page)
	}
	table, after, _ := strings.Cut(rest, "\n\n")
	if table+"\n" == b.String() {
		return
	}
	if *update {
		text := before + "| action | resource | modes |\n" + head + b.String() + "\n" + after
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s has the table\n%s\nwant\n%s\ngo test ./deploy/iam -update writes it anew", page, table, b.String())
}

// resource describes the resource of a statement for the page.
func resource(arn string, s iam.Statement) string {
	for _, keys := range s.Condition {
		for key := range keys {
			if arn == "*" {
				return "any with `" + key + "`"
			}
		}
	}
	if arn == "*" {
		return "any"
	}
	part := strings.SplitN(arn, ":", 6)[5]
	switch {
	case strings.HasPrefix(part, "role/"):
		return "the role"
	case part == "alarm:*":
		return "alarms"
	}
	what, _, ok := strings.Cut(strings.ReplaceAll(part, ":", "/"), "/")
	switch {
	case arn == topic:
		return "the topic"
	case !ok:
		return "the queue"
	}
	return map[string]string{"autoScalingGroup": "the group", "task": "the cluster's tasks", "service": "the service",
		"cluster": "the cluster", "container-instance": "the cluster's instances", "table": "the table",
		"capacity-provider": "capacity providers", "scalable-target": "scalable targets",
		"task-definition": "the task definition"}[what]
}
