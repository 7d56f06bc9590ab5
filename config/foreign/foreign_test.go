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

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/foreign"
)

var update = flag.Bool("update", false, "write the golden files anew")

func nothing(string) (string, bool) { return "", false }

// valid parses what was written, which must be without fault.
func valid(t testing.TB, r foreign.Result) *config.Config {
	t.Helper()
	c, err := config.Parse("written.yaml", r.YAML(), nothing)
	if err != nil {
		t.Fatalf("what was written has faults:\n%v\n%s", err, r.YAML())
	}
	return c
}

// TestWhatIsWritten compares what is written for each template in testdata with a golden file. Every note is in there.
func TestWhatIsWritten(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*.yaml", "testdata/*.json"} {
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
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := foreign.Read(filepath.Base(file), text)
			if err != nil {
				t.Fatal(err)
			}
			valid(t, r)
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
				t.Errorf("written is another configuration than %s has (-want +got), run the test with -update to accept it:\n%s", golden, d)
			}
			one := strings.Join(strings.Fields(strings.ReplaceAll(string(r.YAML()), "#", "")), " ")
			for _, f := range r.Fleets {
				for _, n := range f.Notes {
					if !strings.Contains(one, strings.Join(strings.Fields(strings.ReplaceAll(n.String(), "#", "")), " ")) {
						t.Errorf("no comment says: %s", n)
					}
				}
			}
		})
	}
}

// read reads a template with one policy of the target given, and these other parts.
func read(t *testing.T, target, rest string) (foreign.Result, error) {
	t.Helper()
	return foreign.Read("t.yaml", []byte(`Resources:
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
		why    string // of the note when it cannot be told
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
		{"!If [Unsure, 1, 2]", 0, "the condition \"Unsure\" cannot be told: the parameter Open has no default"},
		{"!If [Loop, 1, 2]", 0, "the condition \"Loop\" cannot be told: it is not stated"},
		{"!Ref Open", 0, "the parameter Open has no default"},
		{"!Ref Nobody", 0, "the template has neither a parameter nor a resource \"Nobody\""},
		{"!Ref AWS::AccountId", 0, "AWS::AccountId is known only where the stack is"},
		{"!ImportValue x", 0, "ImportValue is known only where the stack is"},
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
		{"above, strictly", "GreaterThanThreshold", "AWS/SQS ApproximateNumberOfMessagesVisible", "[{MetricIntervalLowerBound: 0, MetricIntervalUpperBound: 10, ScalingAdjustment: 1}, {MetricIntervalLowerBound: 10, ScalingAdjustment: 3}]",
			"backlog [101,110) +1, [110,) +3"},
		{"above or equal", "GreaterThanOrEqualToThreshold", "AWS/SQS ApproximateNumberOfMessagesVisible", "[{ScalingAdjustment: 2}]", "backlog [100,) +2"},
		{"below, strictly", "LessThanThreshold", "AWS/SQS ApproximateAgeOfOldestMessage", "[{MetricIntervalUpperBound: 0, ScalingAdjustment: -1}]", "oldest-age [0,100) -1"},
		{"below or equal, in two steps", "LessThanOrEqualToThreshold", "AWS/SQS ApproximateNumberOfMessagesVisible", "[{MetricIntervalUpperBound: 0, MetricIntervalLowerBound: -50, ScalingAdjustment: -1}, {MetricIntervalUpperBound: -50, ScalingAdjustment: -2}]",
			"backlog [51,101) -1, [0,51) -2"},
		{"fractions", "GreaterThanThreshold", "My BacklogPerInstance", "[{ScalingAdjustment: 2}]", "backlog-per-worker [100.001,) +2"},
		{"a step at values that never are", "LessThanThreshold", "AWS/SQS ApproximateNumberOfMessagesVisible", "[{MetricIntervalUpperBound: -200, ScalingAdjustment: -2}, {MetricIntervalLowerBound: -200, ScalingAdjustment: -1}]", "backlog [0,100) -1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			namespace, metric, _ := strings.Cut(row.metric, " ")
			r, err := foreign.Read("t.yaml", []byte(`Resources:
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
			r, err := foreign.Read("t.yaml", []byte(`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, spec: {scaleTargetRef: {name: f}, triggers: [
				{type: cron, metadata: {timezone: Europe/Berlin, desiredReplicas: "4", start: "`+row.start+`", end: "`+row.end+`"}}]}}`))
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
		{"nothing that scales", "Resources: {Queue: {Type: 'AWS::SQS::Queue'}}", "found nothing that scales; expected a CloudFormation or SAM template with"},
		{"only what is no fleet", "Resources:\n  P: {Type: 'AWS::ApplicationAutoScaling::ScalingPolicy', Properties: {ScalableDimension: x}}", "t:2:3: P scales \"x\", which is no fleet of workers"},
		{"empty", "", "found nothing that scales"},
		{"no YAML", "a: [1,\nb: }", "t:2:4"},
		{"a chart", "a: {{ .Values.b }}\nc: }", "it looks like a chart; render it first, as with helm template"},
		{"an alias", "a: &x [1]\nb: *x", "t:2:4: found the alias *x, allowed are plain values"},
		{"too deep", "a: " + deep, "t:1:"},
		{"too long", strings.Repeat("#", foreign.MaxBytes+1), "found more than 1048576 bytes"},
		{"too many documents", strings.Repeat("--- a\n", 201), "found 201 documents, allowed are at most 200"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := foreign.Read("t", []byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
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
	if err != nil || len(r.Fleets[0].Notes) != 1 || !strings.Contains(r.Fleets[0].Notes[0].Message, "cannot be told") {
		t.Errorf("found %v, %v", r.Notes, err)
	}
}

// FuzzRead holds that Read never panics, that notes lie within the text, and that what is written is a valid configuration.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/*.json"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add([]byte("Resources: {P: {Type: 'AWS::AutoScaling::ScalingPolicy', Properties: !Ref P}}"))
	f.Add([]byte("apiVersion: keda.sh/v1\nkind: ScaledObject\nspec: {triggers: [{type: aws-sqs-queue, metadata: {queueURL: 'http://x/q?a'}}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := foreign.Read("fuzz.yaml", text)
		if err != nil {
			return
		}
		lines := strings.Split(string(text), "\n")
		for _, n := range r.Notes {
			if n.Line < 1 || n.Line > len(lines) || n.Column < 1 || n.Column > utf8.RuneCountInString(lines[n.Line-1])+1 {
				t.Fatalf("outside of the text: %s", n)
			}
		}
		valid(t, r)
	})
}
