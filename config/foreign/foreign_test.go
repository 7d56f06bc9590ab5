package foreign_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/foreign"
	"github.com/muster-scale/muster/kinds"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A policy that waits for its queue stands there as a comment. Without the marks it is the policy, indentation and all.
func TestAPolicyInACommentCanBeUsed(t *testing.T) {
	r, err := read(t, "12", "")
	if err != nil {
		t.Fatal(err)
	}
	text := string(r.YAML())
	_, aside, found := strings.Cut(text, "\n    # policy:\n")
	if !found {
		t.Fatalf("found no policy in a comment:\n%s", text)
	}
	used := "    policy:\n"
	for line := range strings.Lines(aside) {
		bare, comment := strings.CutPrefix(line, "    # ")
		if !comment {
			break
		}
		used += "    " + bare
	}
	text = strings.Replace(text, "    policy: {name: worker-utilization, signal: reports}\n", used, 1)
	text = strings.Replace(text, "    min: ", "    queue: https://sqs.eu-west-1.amazonaws.com/1/q\n    min: ", 1)
	c, err := kinds.Parse("t.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if p := c.Fleets[0].Policy; p.Name != "backlog-per-worker" || p.Acceptable != 12 {
		t.Errorf("found %s %v, expected backlog-per-worker 12", p.Name, p.Acceptable)
	}
}

// readText reads one text.
func readText(name string, text []byte) (foreign.Result, error) {
	return foreign.Read(foreign.File{Name: name, Text: text})
}

// valid parses what was written, which must be without fault.
func valid(t testing.TB, r foreign.Result) *config.Config {
	t.Helper()
	c, err := kinds.Parse("written.yaml", r.YAML())
	if err != nil {
		t.Fatalf("what was written has faults:\n%v\n%s", err, r.YAML())
	}
	return c
}

// TestWhatIsWritten compares what is written for each template in testdata with a golden file. Every note is in there.
func TestWhatIsWritten(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*.yaml", "testdata/*.json", "testdata/*.txtar"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 4 {
		t.Fatalf("found %d templates", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r, err := foreign.Read(filesIn(t, file)...)
			if err != nil {
				t.Fatal(err)
			}
			onlyWatched(t, valid(t, r))
			golden := file + ".golden"
			if *update {
				if err := os.WriteFile(golden, r.YAML(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(r.YAML())); d != "" {
				t.Errorf(
					"written is another configuration than %s has (-want +got), run the test with -update to accept "+
						"it:\n%s",
					golden, d,
				)
			}
			one := strings.Join(strings.Fields(strings.ReplaceAll(string(r.YAML()), "#", "")), " ")
			for _, f := range r.Fleets {
				for _, n := range f.Notes {
					if !strings.Contains(
						one, strings.Join(strings.Fields(strings.ReplaceAll(n.String(), "#", "")), " "),
					) {
						t.Errorf("no comment says: %s", n)
					}
				}
			}
		})
	}
}

// filesIn are the files of an archive, or the file itself.
func filesIn(t testing.TB, file string) (files []foreign.File) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(file) != ".txtar" {
		return []foreign.File{{Name: filepath.Base(file), Text: text}}
	}
	for _, f := range txtar.Parse(text).Files {
		files = append(files, foreign.File{Name: f.Name, Text: f.Data})
	}
	return files
}

// read reads a template with one policy of the target given, and these other parts.
func read(t *testing.T, target, rest string) (foreign.Result, error) {
	t.Helper()
	return readText("t.yaml", []byte(`Resources:
  Group: {Type: "AWS::AutoScaling::AutoScalingGroup", Properties: {AutoScalingGroupName: g, MinSize: 1, MaxSize: 9}}
  Policy:
    Type: AWS::AutoScaling::ScalingPolicy
    Properties:
      AutoScalingGroupName: !Ref Group
      PolicyType: TargetTrackingScaling
      TargetTrackingConfiguration:
        TargetValue: `+target+`
        CustomizedMetricSpecification: {MetricName: BacklogPerInstance, Namespace: A, Statistic: Average}
`+rest))
}

func TestReferencesAreResolvedWithinTheTemplate(t *testing.T) {
	const rest = `
Parameters:
  Seven: {Type: Number, Default: 7}
  Stage: {Type: String, Default: prod}
  Open: {Type: Number}
  List: {Type: CommaDelimitedList, Default: "1,2,3"}
Mappings: {By: {prod: {Target: 11}, test: {Target: 2}}}
Conditions:
  Prod: !Equals [!Ref Stage, prod]
  Test: {"Fn::Not": [{Condition: Prod}]}
  Both: !And [!Condition Prod, !Condition Test]
  Either: !Or [!Condition Test, !Condition Prod]
  Unsure: !Equals [!Ref Open, 1]
  Loop: !Not [!Condition Loop]
`
	for _, row := range []struct {
		target string
		want   float64
		why    string // of the note when it cannot be determined
	}{
		{"12.5", 12.5, ""},
		{`"12.5"`, 12.5, ""},
		{"!Ref Seven", 7, ""},
		{"{Ref: Seven}", 7, ""},
		{"!Sub '${Seven}0'", 70, ""},
		{"!Sub ['${A}${Seven}', {A: 3}]", 37, ""},
		{"!Join ['', [1, !Ref Seven]]", 17, ""},
		{"{'Fn::Join': ['', [1, {Ref: Seven}]]}", 17, ""},
		{"!FindInMap [By, !Ref Stage, Target]", 11, ""},
		{"!Select [1, [4, 5, 6]]", 5, ""},
		{"!Select [2, !Split [',', !Ref List]]", 3, ""},
		{"!If [Prod, 1, 2]", 1, ""},
		{"!If [Test, 1, 2]", 2, ""},
		{"!If [Both, 1, 2]", 2, ""},
		{"!If [Either, 1, 2]", 1, ""},
		{"!If [Unsure, 1, 2]", 0, "the condition \"Unsure\" cannot be determined: the parameter Open has no default"},
		{"!If [Loop, 1, 2]", 0, "the condition \"Loop\" cannot be determined: it is not stated"},
		{"!Ref Open", 0, "the parameter Open has no default"},
		{"!Ref Nobody", 0, "the template has neither a parameter nor a resource \"Nobody\""},
		{"!Ref AWS::AccountId", 0, "AWS::AccountId is known only where the stack is"},
		{"!ImportValue x", 0, "\"x\" is an export of another stack"},
		{"!GetAtt Nobody.Arn", 0, "the template has no resource \"Nobody\""},
		{"!FindInMap [By, dev, Target]", 0, "Mappings has no \"dev\""},
		{"!Select [7, [1]]", 0, "Select has an index outside of its list"},
		{"!Sub '${Open}'", 0, "the parameter Open has no default"},
		{"much", 0, "found \"much\", allowed is a number above 0"},
		{"-1", 0, "found \"-1\", allowed is a number above 0"},
	} {
		t.Run(row.target, func(t *testing.T) {
			r, err := read(t, row.target, rest)
			if err != nil {
				t.Fatal(err)
			}
			valid(t, r)
			f := r.Fleets[0]
			if row.why != "" {
				if len(f.Notes) != 1 || f.Notes[0].Line != 9 || !strings.Contains(f.Notes[0].Message, row.why) {
					t.Errorf("found the notes %v, expected one on line 9: %s", f.Notes, row.why)
				}
				return
			}
			if len(f.Policies) != 1 || f.Policies[0].Acceptable != row.want || len(f.Notes) > 0 {
				t.Errorf("found %+v with the notes %v, expected %v", f.Policies, f.Notes, row.want)
			}
		})
	}
}

func TestStepsCountFromTheThreshold(t *testing.T) {
	for _, row := range []struct {
		name, operator, metric, steps string
		want                          string
	}{
		{"above, strictly", "GreaterThanThreshold", "AWS/SQS ApproximateNumberOfMessagesVisible",
			"[{MetricIntervalLowerBound: 0, MetricIntervalUpperBound: 10, ScalingAdjustment: 1}, " +
				"{MetricIntervalLowerBound: 10, ScalingAdjustment: 3}]",
			"backlog [101,110) +1, [110,) +3"},
		{"above or equal", "GreaterThanOrEqualToThreshold", "AWS/SQS ApproximateNumberOfMessagesVisible",
			"[{ScalingAdjustment: 2}]", "backlog [100,) +2"},
		{"below, strictly", "LessThanThreshold", "AWS/SQS ApproximateAgeOfOldestMessage",
			"[{MetricIntervalUpperBound: 0, ScalingAdjustment: -1}]", "oldest-age [0,100) -1"},
		{"below or equal, in two steps", "LessThanOrEqualToThreshold", "AWS/SQS ApproximateNumberOfMessagesVisible",
			"[{MetricIntervalUpperBound: 0, MetricIntervalLowerBound: -50, ScalingAdjustment: -1}, " +
				"{MetricIntervalUpperBound: -50, ScalingAdjustment: -2}]",
			"backlog [51,101) -1, [0,51) -2"},
		{"fractions", "GreaterThanThreshold", "My BacklogPerInstance", "[{ScalingAdjustment: 2}]",
			"backlog-per-worker [100.001,) +2"},
		{"a step at values that never are", "LessThanThreshold", "AWS/SQS ApproximateNumberOfMessagesVisible",
			"[{MetricIntervalUpperBound: -200, ScalingAdjustment: -2}, {MetricIntervalLowerBound: -200, " +
				"ScalingAdjustment: -1}]", "backlog [0,100) -1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			namespace, metric, _ := strings.Cut(row.metric, " ")
			r, err := readText("t.yaml", []byte(`Resources:
  Policy:
    Type: AWS::AutoScaling::ScalingPolicy
    Properties: {AutoScalingGroupName: g, PolicyType: StepScaling, AdjustmentType: ChangeInCapacity, StepAdjustments: `+row.steps+`}
  Alarm:
    Type: AWS::CloudWatch::Alarm
    Properties: {Namespace: `+namespace+`, MetricName: `+metric+`, Threshold: 100, ComparisonOperator: `+row.operator+`, AlarmActions: [!Ref Policy],
      Dimensions: [{Name: QueueName, Value: q}]}
`))
			if err != nil {
				t.Fatal(err)
			}
			valid(t, r)
			if len(r.Fleets[0].Policies) != 1 {
				t.Fatalf("found no policy: %v", r.Notes)
			}
			spec := r.Fleets[0].Policies[0]
			var got []string
			for _, s := range spec.Steps {
				to := ""
				if s.To > 0 {
					to = strconv.FormatFloat(s.To, 'g', -1, 64)
				}
				got = append(got, fmt.Sprintf("[%g,%s) %+d", s.From, to, s.Add))
			}
			if text := spec.Metric + " " + strings.Join(got, ", "); text != row.want {
				t.Errorf("found %s, expected %s", text, row.want)
			}
		})
	}
}

func TestTimesOfDayBecomeASchedule(t *testing.T) {
	for _, row := range []struct{ name, start, end, want string }{
		{"every day", "0 8 * * *", "30 18 * * *", "[] 08:00 to 18:30"},
		{"on weekdays, by numbers", "0 8 * * 1-5", "0 18 * * 1-5", "[mon tue wed thu fri] 08:00 to 18:00"},
		{"by names", "5 0 * * MON,sat", "6 1 * * Mon,SAT", "[mon sat] 00:05 to 01:06"},
		{"over midnight, every day", "0 22 * * *", "0 6 * * *", "[] 22:00 to 06:00"},
		{"over midnight, to the next day", "0 22 * * 5", "0 6 * * 6", "[fri] 22:00 to 06:00"},
		{"over the end of the week", "0 8 * * 6-0", "0 9 * * 6,7", "[sun sat] 08:00 to 09:00"},
		{"for three days", "0 8 * * 1", "0 8 * * 4", "it ends on other days than it begins"},
		{"by the hour", "0 */2 * * *", "0 18 * * *", "which is not one time of each day"},
		{"on a day of the month", "0 8 1 * *", "0 18 1 * *", "which is not one time of each day"},
		{"nothing", "", "0 18 * * *", "allowed are five fields"},
		{"no weekday", "0 8 * * someday", "0 18 * * *", "found the weekdays"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := readText(
				"t.yaml",
				[]byte(`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, spec: {scaleTargetRef: {name: f}, triggers: [
				{type: cron, metadata: {timezone: Europe/Berlin, desiredReplicas: "4", start: "`+row.start+`", end: "`+row.end+`"}}]}}`),
			)
			if err != nil {
				t.Fatal(err)
			}
			c := valid(t, r)
			got := fmt.Sprint(r.Notes)
			if len(r.Notes) == 0 {
				i := c.Fleets[0].Policy.Intervals[0]
				got = fmt.Sprintf("%v %s to %s", i.Days, i.From, i.To)
			}
			if len(r.Notes) == 0 && got != row.want || !strings.Contains(got, row.want) {
				t.Errorf("found %s, expected %s", got, row.want)
			}
		})
	}
}

func TestATextThatCannotBeReadIsRefusedAtItsPlace(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, row := range []struct{ name, text, want string }{
		{"nothing that scales", "Resources: {Queue: {Type: 'AWS::SQS::Queue'}}", "found nothing that scales; " +
			"expected scaling policies or scheduled actions of Auto Scaling groups or ECS services in a " +
			"CloudFormation or SAM template"},
		{"only what is no fleet", "Resources:\n  P: {Type: 'AWS::ApplicationAutoScaling::ScalingPolicy', Properties: " +
			"{ScalableDimension: x}}", "t:2:3: P scales \"x\", which is no fleet of workers"},
		{"empty", "", "found nothing that scales"},
		{"no YAML", "a: [1,\nb: }", "t:2:4"},
		{"a chart", "a: {{ .Values.b }}\nc: }", "it looks like a chart; render it first, as with helm template"},
		{"an alias", "a: &x [1]\nb: *x", "t:2:4: found the alias *x, allowed are plain values"},
		{"too deep", "a: " + deep, "t:1:"},
		{"too long", strings.Repeat("#", foreign.MaxBytes+1), "found more than 8388608 bytes"},
		{"too many documents", strings.Repeat("--- a\n", 201), "found 201 documents, allowed are at most 200"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := readText("t", []byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("found %v, expected %s", err, row.want)
			}
		})
	}
}

// A billion laughs need no aliases: here each text is the one before, three times. It is cut off when it is too long.
func TestATemplateThatGrowsWithoutBoundIsCutOff(t *testing.T) {
	var b strings.Builder
	b.WriteString("Parameters:\n  P0: {Default: ha}\n")
	for i := range 30 {
		fmt.Fprintf(&b, "  P%d: {Default: !Sub '${P%d}${P%d}${P%d}'}\n", i+1, i, i, i)
	}
	r, err := read(t, "!Ref P30", b.String())
	if err != nil || len(r.Fleets[0].Notes) != 1 ||
		!strings.Contains(r.Fleets[0].Notes[0].Message, "cannot be determined") {
		t.Errorf("found %v, %v", r.Notes, err)
	}
}

// FuzzRead holds that Read never panics, that notes lie within the text, and that what is written is a valid
// configuration of fleets that only watch.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/*.json", "testdata/*.txtar"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			for _, one := range filesIn(f, file) {
				f.Add(one.Text, strings.HasPrefix(filepath.Ext(one.Name), ".tf"))
				if filepath.Ext(one.Name) == ".tf" {
					f.Add(inJSON(f, one).Text, true)
				}
			}
		}
	}
	f.Add([]byte("Resources: {P: {Type: 'AWS::AutoScaling::ScalingPolicy', Properties: !Ref P}}"), false)
	f.Add([]byte("apiVersion: keda.sh/v1\nkind: ScaledObject\n"+
		"spec: {triggers: [{type: aws-sqs-queue, metadata: {queueURL: 'http://x/q?a'}}]}"), false)
	f.Fuzz(func(t *testing.T, text []byte, hcl bool) {
		name := "fuzz.yaml"
		if hcl {
			name = "fuzz.tf"
		}
		if hcl && strings.HasPrefix(string(text), "{") {
			name = "fuzz.tf.json"
		}
		r, err := readText(name, text)
		if err != nil {
			return
		}
		lines := strings.Split(string(text), "\n")
		for _, n := range r.Notes {
			if n.Line < 1 || n.Line > len(lines) || n.Column < 1 ||
				n.Column > utf8.RuneCountInString(lines[n.Line-1])+1 {
				t.Fatalf("outside of the text: %s", n)
			}
		}
		onlyWatched(t, valid(t, r))
	})
}

// onlyWatched holds that nothing of a configuration starts a worker or sizes anything.
func onlyWatched(t testing.TB, c *config.Config) {
	t.Helper()
	for _, f := range c.Fleets {
		if !f.Policy.Shadow || len(f.Workers.Command) > 0 || f.Workers.HTTP != "" {
			t.Errorf("the fleet %s is not in shadow, or has a program to start: %v", f.Name, f.Workers.Command)
		}
		for _, q := range f.Queues {
			if q.URL == "" {
				t.Errorf("the fleet %s has the embedded queue %s, which would be empty", f.Name, q.Name)
			}
		}
	}
}

func TestAQueueIsNamedByItsNameURLOrARN(t *testing.T) {
	for _, row := range []struct{ stated, want string }{
		{"q.fifo", "https://sqs.REGION.amazonaws.com/ACCOUNT/q.fifo"},
		{"arn:aws:sqs:eu-west-1:123456789012:q", "https://sqs.REGION.amazonaws.com/ACCOUNT/q"},
		{"https://sqs.eu-west-1.amazonaws.com/123456789012/q", "https://sqs.eu-west-1.amazonaws.com/123456789012/q"},
		{"http://localhost:4566/000000000000/q", "https://sqs.REGION.amazonaws.com/ACCOUNT/q"},
		{"q u e", ""},
		{"<queue>", ""},
	} {
		r, err := readText("t.yaml", []byte(`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, spec: {scaleTargetRef: {name: f},
			triggers: [{type: aws-sqs-queue, metadata: {queueURL: "`+row.stated+`"}}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		valid(t, r)
		if got := strings.Join(r.Fleets[0].Queues, ","); got != row.want {
			t.Errorf("%s: found %s, expected %s", row.stated, got, row.want)
		}
	}
}

// What looks like a region and is none must not get into the configuration.
func TestARegionIsTakenWhereItIsOne(t *testing.T) {
	r, err := readText("t.yaml", []byte(`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, spec: {scaleTargetRef: {name: f},
		triggers: [{type: aws-sqs-queue, metadata: {queueURL: q, awsRegion: "${REGION}"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if q := r.Fleets[0].Queues[0]; q != "https://sqs.REGION.amazonaws.com/ACCOUNT/q" {
		t.Errorf("found the queue %s, expected one without a region", q)
	}
	for _, row := range []struct{ arn, want string }{
		{"arn:aws:autoscaling:us-east-2:345678901234:scalingPolicy:1", "us-east-2"},
		{"arn:aws-us-gov:autoscaling:us-gov-west-1:345678901234:scalingPolicy:1", "us-gov-west-1"},
		{"arn:aws:autoscaling:geust-2:345678901234:scalingPolicy:1", ""},
		{"arn:aws:autoscaling:us-east-2:nobody:scalingPolicy:1", ""},
	} {
		r, err := readText("p.json", []byte(`{"AutoScalingGroupName": "g", "PolicyName": "p", "PolicyARN": "`+row.arn+`",
			"PolicyType": "TargetTrackingScaling", "TargetTrackingConfiguration": {"TargetValue": 3}}`))
		if err != nil {
			t.Fatal(err)
		}
		valid(t, r)
		if got := r.Fleets[0].Region; got != row.want {
			t.Errorf("%s: found %q, expected %q", row.arn, got, row.want)
		}
	}
}
