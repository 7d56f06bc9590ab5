package alerts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
)

// This file has the alarms of CloudWatch, as a template of CloudFormation. They use the metrics of SQS and those that
// muster publish, or muster up with delegate, publishes.

// Template is a CloudFormation template.
type Template struct {
	AWSTemplateFormatVersion string
	Description              string
	Parameters               map[string]Parameter
	Conditions               map[string]any `json:",omitempty"`
	Resources                map[string]Resource
}

// Parameter is a parameter of a template.
type Parameter struct {
	Type        string
	Description string
	Default     *string `json:",omitempty"`
}

// Resource is a resource of a template.
type Resource struct {
	Type       string
	Condition  string `json:",omitempty"`
	Properties map[string]any
}

// topic is the parameter with the SNS topic of all alarms.
const topic = "TopicArn"

// Make returns the alerts for a system, for the fleets of a configuration: the rule file of prometheus, or the template
// of cloudwatch in JSON. For Prometheus a configuration without fleets stands for all fleets.
func Make(system string, c *config.Config) ([]byte, error) {
	switch system {
	case "prometheus":
		var names []string
		for _, f := range c.Fleets {
			names = append(names, f.Name)
		}
		return []byte(Prometheus(names)), nil
	case "cloudwatch":
		t, err := CloudWatch(c)
		if err != nil {
			return nil, fmt.Errorf("make alarms: %w", err)
		}
		text, err := json.MarshalIndent(t, "", "  ")
		return append(text, '\n'), err
	}
	return nil, fmt.Errorf("make alerts: found the system %q, allowed is prometheus or cloudwatch", system)
}

// mostResources is how many resources a template of CloudFormation may have.
const mostResources = 500

// CloudWatch returns the alarms for the fleets of a configuration that have a queue on SQS. It fails if none has one.
func CloudWatch(c *config.Config) (Template, error) {
	t := Template{
		AWSTemplateFormatVersion: "2010-09-09",
		Description:              "Alarms for fleets of Muster, by muster template alerts --cloudwatch",
		Parameters: map[string]Parameter{topic: {Type: "String",
			Description: "The ARN of the SNS topic that gets the alarms"}},
		Conditions: map[string]any{}, Resources: map[string]Resource{},
	}
	for _, f := range c.Fleets {
		queues := queuesOnSQS(f)
		if len(queues) == 0 {
			continue
		}
		a := alarms{template: &t, fleet: f, id: t.free(identifier(f.Name))}
		a.objective()
		for i, q := range queues {
			a.queue(i, q)
		}
		a.size()
	}
	if n := len(t.Resources); n > mostResources {
		return t, fmt.Errorf("found %d alarms for %d fleets, a template of CloudFormation has %d at most: keep the "+
			"fleets in several configurations, or use --prometheus", n, len(c.Fleets), mostResources)
	}
	if len(t.Resources) == 0 {
		return t, errors.New("found no fleet with a queue on SQS; use --prometheus for others, or name the " +
			"configuration with -f FILE")
	}
	return t, nil
}

// queuesOnSQS returns the names of the queues of a fleet that CloudWatch measures.
func queuesOnSQS(f config.Fleet) []string {
	var names []string
	for _, q := range f.Queues {
		if q.Remote {
			names = append(names, q.Name)
		}
	}
	return names
}

// identifier makes a logical name of letters and digits.
func identifier(name string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(name, func(r rune) bool {
		return !unicode.IsDigit(r) && (r > unicode.MaxASCII || !unicode.IsLetter(r))
	}) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return cmp.Or(b.String(), "Fleet")
}

// free returns id, with a number if another fleet has it already.
func (t *Template) free(id string) string {
	for n := 2; ; n++ {
		if _, taken := t.Resources[id+"OldestMessageLate"]; !taken {
			return id
		}
		id = fmt.Sprint(strings.TrimRight(id, "0123456789"), n)
	}
}

// alarms adds the alarms of one fleet.
type alarms struct {
	template *Template
	fleet    config.Fleet
	id       string
}

// add adds an alarm with its own properties. A quiet one notifies nobody: a composite alarm uses it.
func (a *alarms) add(name, description string, quiet bool, properties map[string]any) {
	properties["AlarmName"] = "muster-" + a.fleet.Name + "-" + name
	properties["AlarmDescription"] = a.fleet.Name + ": " + description
	if !quiet {
		properties["AlarmActions"] = []any{map[string]string{"Ref": topic}}
	}
	a.template.Resources[a.id+name] = Resource{Type: "AWS::CloudWatch::Alarm", Properties: properties}
}

// published returns the properties of an alarm over one metric that Muster publishes. Missing says what a missing value
// means: breaching, notBreaching, ignore or missing.
func (a *alarms) published(metric, statistic string, period, periods int, comparison string, threshold float64,
	missing string) map[string]any {
	return map[string]any{
		"Namespace": kind.NamespaceOf(a.fleet), "MetricName": metric,
		"Dimensions": []any{map[string]string{"Name": "Fleet", "Value": a.fleet.Name}},
		"Statistic":  statistic, "Period": period, "EvaluationPeriods": periods,
		"ComparisonOperator": comparison, "Threshold": threshold, "TreatMissingData": missing,
	}
}

// objective adds the burn rates. InTimeRatio is a share over the last hour already, so the short window shows whether
// that still holds.
func (a *alarms) objective() {
	for _, w := range []struct {
		name, description string
		factor            float64
		short, long       int // seconds
	}{
		{"ObjectiveBurnsFast", "the error budget of a month would last two days", fastFactor, 300, 3600},
		{"ObjectiveBurnsSlowly", "the error budget of a month would last five days", slowFactor, 1800, 21600},
	} {
		// Rounded, because 1 less a quantile is not exact.
		least := math.Round((1-min(w.factor*(1-a.fleet.Objective.Quantile), mostLate))*1e6) / 1e6
		var parts []any
		for _, part := range []struct {
			name   string
			period int
		}{{"Now", w.short}, {"ForLong", w.long}} {
			a.add(w.name+part.name, "a part of "+w.name, true, a.published("InTimeRatio", "Average", part.period, 1,
				"LessThanThreshold", least, "missing"))
			parts = append(parts, map[string]string{"Ref": a.id + w.name + part.name})
		}
		composite := Resource{Type: "AWS::CloudWatch::CompositeAlarm", Properties: map[string]any{
			"AlarmName":        "muster-" + a.fleet.Name + "-" + w.name,
			"AlarmDescription": a.fleet.Name + ": too many messages are late: " + w.description,
			"AlarmActions":     []any{map[string]string{"Ref": topic}},
			"AlarmRule": map[string]any{"Fn::Sub": []any{`ALARM("${Now}") AND ALARM("${ForLong}")`,
				map[string]any{"Now": parts[0], "ForLong": parts[1]}}},
		}}
		a.template.Resources[a.id+w.name] = composite
	}
}

// queue adds the alarms of the i-th queue.
func (a *alarms) queue(i int, name string) {
	suffix := ""
	if i > 0 {
		suffix = fmt.Sprint(i + 1)
	}
	metric := func(id, metric, statistic string, period int, queue any) map[string]any {
		return map[string]any{"Id": id, "ReturnData": false, "MetricStat": map[string]any{
			"Metric": map[string]any{"Namespace": "AWS/SQS", "MetricName": metric,
				"Dimensions": []any{map[string]any{"Name": "QueueName", "Value": queue}}},
			"Stat": statistic, "Period": period}}
	}
	above := func(periods int, threshold float64, expression string, metrics ...any) map[string]any {
		return map[string]any{"ComparisonOperator": "GreaterThanThreshold", "Threshold": threshold,
			"EvaluationPeriods": periods, "TreatMissingData": "notBreaching",
			"Metrics": append(metrics, map[string]any{"Id": "result", "Expression": expression})}
	}
	a.add("OldestMessageLate"+suffix, "a message waits in "+name+" for longer than the objective", false,
		above(2, a.fleet.Objective.Latency.Seconds(), "FILL(age, 0)",
			metric("age", "ApproximateAgeOfOldestMessage", "Maximum", 60, name)))
	a.add("AllWorkFails"+suffix, "messages of "+name+" are received and none is finished", false,
		above(3, 0, "IF(received > 0 AND deleted == 0, 1, 0)",
			metric("received", "NumberOfMessagesReceived", "Sum", 300, name),
			metric("deleted", "NumberOfMessagesDeleted", "Sum", 300, name)))
	// The dead-letter queue is an attribute of the queue, which the configuration does not have.
	dead, none := a.id+"DeadLetterQueue"+suffix, ""
	a.template.Parameters[dead] = Parameter{Type: "String", Default: &none,
		Description: "The name of the dead-letter queue of " + name + "; empty for none"}
	a.template.Conditions["Has"+dead] = map[string]any{"Fn::Not": []any{map[string]any{"Fn::Equals": []any{
		map[string]string{"Ref": dead}, ""}}}}
	a.add("DeadLettersGrow"+suffix, "messages of "+name+" became dead letters", false, above(1, 0, "DIFF(dead)",
		metric("dead", "ApproximateNumberOfMessagesVisible", "Maximum", 900, map[string]string{"Ref": dead})))
	r := a.template.Resources[a.id+"DeadLettersGrow"+suffix]
	r.Condition = "Has" + dead
	a.template.Resources[a.id+"DeadLettersGrow"+suffix] = r
}

// size adds the alarms of the fleet's size and of the controller. A controller that is gone publishes nothing.
func (a *alarms) size() {
	a.add("FleetAtMaximum", fmt.Sprintf("the fleet has its largest size of %d", a.fleet.Limits.Max), false,
		a.published("WorkersInService", "Minimum", 300, 3, "GreaterThanOrEqualToThreshold", float64(a.fleet.Limits.Max),
			"notBreaching"))
	a.add("SourceBlind", "the backlog per worker is unknown", false,
		a.published("BacklogPerWorker", "SampleCount", 300, 1, "LessThanThreshold", 1, "breaching"))
	a.add("NoController", "nothing publishes metrics of the fleet: muster up or muster publish does not run", false,
		a.published("WorkersInService", "SampleCount", 300, 1, "LessThanThreshold", 1, "breaching"))
}
