package config

import (
	"github.com/muster-scale/muster/policy"
)

// kind is what a value may be.
type kind string

const (
	kindText     kind = "text"
	kindWhole    kind = "whole number"
	kindNumber   kind = "number"
	kindDuration kind = "duration"
	kindTruth    kind = "true or false"
	kindMapping  kind = "mapping"
	// kindPolicy is a policy's name, or a mapping.
	kindPolicy kind = "policy"
	// kindHeadroom is a number of workers, or a percentage.
	kindHeadroom kind = "headroom"
	// kindCommand is a program with its arguments, or the program alone.
	kindCommand kind = "command"
)

// key is one key of a mapping: what the decoder accepts and what the schema says come from here.
type key struct {
	name string
	kind kind
	what string
	// list is true for a list of such values.
	list     bool
	required bool
	// enum are the texts that are allowed; nil allows any.
	enum []string
	// of are the keys of a mapping.
	of []key
}

// names returns the keys' names.
func names(keys []key) []string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.name
	}
	return all
}

func rootKeys() []key {
	return []key{
		{name: "version", kind: kindWhole, required: true, what: "the version of the configuration: 1"},
		{name: "data", kind: kindText, what: "the directory of the queue, the history and the keys; .muster beside the file by default"},
		{name: "listen", kind: kindMapping, of: listenKeys(), what: "where the servers listen"},
		{name: "strict", kind: kindTruth, what: "whether embedded queues hold, as AWS does, a second purge and the name of a deleted queue back for 60s; false by default"},
		{name: "aws", kind: kindMapping, of: awsKeys(), what: "how AWS is called, for all fleets together"},
		{name: "queues", kind: kindMapping, list: true, of: queueKeys(), what: "attributes of embedded queues"},
		{name: "fleets", kind: kindMapping, list: true, of: fleetKeys(), what: "the fleets"},
	}
}

func listenKeys() []key {
	return []key{
		{name: "queue", kind: kindText, what: "the SQS endpoint of the embedded queues, 127.0.0.1:9324 by default"},
		{name: "api", kind: kindText, what: "the HTTP API, 127.0.0.1:9325 by default"},
		{name: "beyond", kind: kindMapping, of: beyondKeys(), what: "opens both to other machines, with TLS only"},
	}
}

func beyondKeys() []key {
	return []key{
		{name: "queue", kind: kindText, what: "the address of the SQS endpoint for other machines, as in 0.0.0.0:9334"},
		{name: "api", kind: kindText, what: "the address of the HTTP API for other machines, as in 0.0.0.0:9335"},
		{name: "cert", kind: kindText, required: true, what: "the file of the certificate chain, in PEM"},
		{name: "key", kind: kindText, required: true, what: "the file of the certificate's key, in PEM"},
		{name: "hosts", kind: kindText, list: true, required: true, what: "the names under which the servers are reached"},
	}
}

func queueKeys() []key {
	return []key{
		{name: "name", kind: kindText, required: true, what: "1 to 80 letters, digits, hyphens and underscores"},
		{name: "visibility", kind: kindDuration, what: "how long a received message stays hidden: 0s to 12h, by default 30s"},
		{name: "delay", kind: kindDuration, what: "how long a new message stays hidden: 0s to 15m, by default 0s"},
		{name: "retention", kind: kindDuration, what: "how long a message is kept: 1m to 336h, by default 96h"},
		{name: "dead_letter", kind: kindMapping, of: deadLetterKeys(), what: "where messages go that were received too often"},
	}
}

func deadLetterKeys() []key {
	return []key{
		{name: "queue", kind: kindText, required: true, what: "another queue"},
		{name: "after", kind: kindWhole, required: true, what: "how many receives a message gets: 1 to 1000"},
	}
}

func fleetKeys() []key {
	return []key{
		{name: "name", kind: kindText, required: true, what: "1 to 63 letters, digits, dots, hyphens and underscores"},
		{name: "queue", kind: kindText, what: "the name of an embedded queue, or the URL of one on SQS"},
		{name: "queues", kind: kindText, list: true, what: "several queues, in place of queue"},
		{name: "split", kind: kindMapping, list: true, of: partKeys(), what: "kinds of workers that share the fleet's size: the bases first, then by weight"},
		{name: "objective", kind: kindMapping, of: objectiveKeys(), what: "when messages shall be finished"},
		{name: "min", kind: kindWhole, what: "the fewest workers, by default 0"},
		{name: "max", kind: kindWhole, required: true, what: "the most workers, up to 10000"},
		{name: "launches_per_hour", kind: kindWhole, what: "launch attempts, failed ones too; by default 10 for each worker of max, at least 60"},
		{name: "poll", kind: kindDuration, what: "time between two looks at the queue: 100ms to 1h, by default 1s, and 5s on AWS"},
		{name: "policy", kind: kindPolicy, enum: policy.Names(), of: policyKeys(true), what: "how the size is decided, by default deadline"},
		{name: "headroom", kind: kindHeadroom, what: "workers kept above what the policy asks for, as in 4 or 10%"},
		{name: "price", kind: kindNumber, what: "what one worker costs in an hour, in any currency"},
		{name: "budget", kind: kindNumber, what: "the most that the fleet may cost in an hour, in the currency of price"},
		{name: "scale_out", kind: kindMapping, of: shapeKeys(), what: "how the size rises"},
		{name: "scale_in", kind: kindMapping, of: shapeKeys(), what: "how the size falls"},
		{name: "shadow", kind: kindTruth, what: "whether Muster only decides and records, beside another system that sizes the fleet; false by default"},
		{name: "workers", kind: kindMapping, of: workerKeys(), what: "what a worker is"},
		{name: "metrics", kind: kindMapping, of: metricsKeys(), what: "signals from CloudWatch, in place of what the queue says of itself, or beside it"},
		{name: "asg", kind: kindMapping, of: asgKeys(), what: "an EC2 Auto Scaling group that the fleet consists of, in place of processes on this machine"},
		{name: "ecs", kind: kindMapping, of: ecsKeys(), what: "a service or tasks on Amazon ECS that the fleet consists of, in place of processes on this machine"},
		{name: "reports_from", kind: kindText, what: "where the workers of a fleet on AWS keep their reports, when they cannot reach the controller: dynamodb:TABLE"},
		{name: "delegate", kind: kindMapping, of: delegateKeys(), what: "leaves the size to the target tracking of AWS, for which Muster provides metric and target"},
	}
}

func partKeys() []key {
	return []key{
		{name: "name", kind: kindText, required: true, what: "1 to 63 letters, digits, hyphens and underscores"},
		{name: "base", kind: kindWhole, what: "workers it has before other parts get any"},
		{name: "weight", kind: kindWhole, what: "its share of the workers beyond all bases"},
		{name: "max", kind: kindWhole, what: "the most workers it may have"},
		{name: "workers", kind: kindMapping, of: workerKeys(), what: "what differs from the fleet's workers"},
	}
}

func objectiveKeys() []key {
	return []key{
		{name: "latency", kind: kindDuration, what: "from sent to finished: 1ms to 336h, by default 30s"},
		{name: "quantile", kind: kindNumber, what: "the share of messages that are in time: above 0, at most 1, by default 0.99"},
		{name: "late", kind: kindDuration,
			what: "what a late message is worth, as the time of one worker: 0s to 336h; 0s, the default: its boot, 1m at least, 100 x the work of the message at most"},
	}
}

func policyKeys(outermost bool) []key {
	keys := []key{
		{name: "name", kind: kindText, required: true, enum: policy.Names(), what: "the policy"},
		{name: "acceptable", kind: kindNumber, what: "the acceptable backlog per worker"},
		{name: "processing", kind: kindDuration, what: "the mean processing duration, until it was measured"},
		{name: "scale", kind: kindNumber, what: "the dial of deadline from cheap (1) to fast: the share of the latency objective that it plans with; by default 1, or half in a prompt fleet with time to launch"},
		{name: "prompt", kind: kindTruth, what: "whether deadline begins what waits at once, with one worker at least; true by default for a fleet of processes without a price"},
		{name: "forecast", kind: kindText, enum: []string{policy.ForecastNone, policy.ForecastSeasonal}, what: "whether deadline plans by what came at the same time of other days, while that proves right; by default none"},
		{name: "trees", kind: kindText, enum: []string{policy.TreesEach, policy.TreesWhole}, what: "what exact does for nodes of trees: a slot for each (the default), or as many as the tree as a whole can use once a worker is there"},
		{name: "first", kind: kindWhole, what: "slots that a tree gets of which only the root is known, with trees: whole; by default 12"},
		{name: "target", kind: kindNumber, what: "the utilization that worker-utilization aims at, by default 0.7; the value that metric-math keeps"},
		{name: "signal", kind: kindText, enum: []string{policy.SignalTotal, policy.SignalInFlight, policy.SignalReports}, what: "what worker-utilization counts as work"},
		{name: "metric", kind: kindText, enum: []string{policy.MetricBacklog, policy.MetricTotalWork, policy.MetricBacklogPerWorker, policy.MetricOldestAge, policy.MetricUtilization}, what: "what step looks at, by default backlog"},
		{name: "steps", kind: kindMapping, list: true, of: stepKeys(), what: "what step does"},
		{name: "cooldown", kind: kindDuration, what: "time between two changes by step"},
		{name: "intervals", kind: kindMapping, list: true, of: intervalKeys(), what: "the sizes of schedule"},
		{name: "Metrics", kind: kindMapping, list: true, of: entryKeys(), what: "the metrics and expressions of metric-math, as AWS takes them"},
	}
	if outermost {
		keys = append(keys, key{name: "largest", kind: kindPolicy, list: true, enum: policy.Names(), of: policyKeys(false), what: "the policies of largest"})
	}
	return keys
}

func stepKeys() []key {
	return []key{
		{name: "from", kind: kindNumber, what: "the step counts from this value of the metric on"},
		{name: "to", kind: kindNumber, what: "and below this one; without it there is no end"},
		{name: "add", kind: kindWhole, what: "workers to add; negative to remove"},
		{name: "percent", kind: kindNumber, what: "workers to add, per hundred of those there are"},
		{name: "set", kind: kindWhole, what: "the size to set"},
	}
}

func intervalKeys() []key {
	return []key{
		{name: "days", kind: kindText, list: true, enum: []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, what: "the days on which it begins; every day by default"},
		{name: "from", kind: kindText, required: true, what: "the time of day it begins at, as in 08:00"},
		{name: "to", kind: kindText, required: true, what: "the time of day it ends at; not after from means the next day"},
		{name: "zone", kind: kindText, what: "the time zone, as in Europe/Berlin; UTC by default"},
		{name: "workers", kind: kindWhole, required: true, what: "the size"},
	}
}

func shapeKeys() []key {
	return []key{
		{name: "stabilization", kind: kindDuration, what: "how long a change must have been wanted: 0s to 24h"},
		{name: "max_workers", kind: kindWhole, what: "the largest change within a period, in workers"},
		{name: "max_percent", kind: kindNumber, what: "the largest change within a period, per hundred; the larger of the two counts"},
		{name: "period", kind: kindDuration, what: "the period of max_workers and max_percent"},
		{name: "disabled", kind: kindTruth, what: "true for no change in this direction at all, but for min and max; false by default"},
	}
}

func workerKeys() []key {
	return append(meansKeys(), surroundingKeys()...)
}

// meansKeys say what a worker runs, and how.
func meansKeys() []key {
	return []key{
		{name: "command", kind: kindCommand, what: "the program and its arguments, run for each message; there is no shell"},
		{name: "json_lines", kind: kindTruth, what: "run the command once for each slot, and speak lines of JSON with it (docs/worker-protocol.md); false by default"},
		{name: "http", kind: kindText, what: "an http URL on this machine to POST each message to, in place of a command"},
		{name: "slots", kind: kindWhole, what: "calls a worker makes at once, each with a message or a batch: 1 to 1000, by default 1"},
		{name: "batch", kind: kindWhole, what: "with json_lines or http, messages that a call brings at most: 1 to 10, by default 1"},
		{name: "max_attempts", kind: kindWhole, what: "failed attempts after which a message goes to dead_letter: 1 to 1000; 0, the default, leaves that to the queue"},
		{name: "dead_letter", kind: kindText, what: "with max_attempts, the name of an embedded queue or the URL of one on SQS; by default the dead_letter of the fleet's embedded queue"},
		{name: "class_attribute", kind: kindText, what: "the message attribute whose text is a message's class, for durations by class"},
		{name: "boot", kind: kindDuration, what: "expected boot time, until boots were measured; by default 1s"},
		{name: "idle", kind: kindDuration, what: "a worker without a message for so long offers to leave; 0s never; by default 30s with exact, else never"},
		{name: "visibility", kind: kindDuration, what: "how long a worker holds a message before it extends the hold: 2s to 12h, by default 30s"},
		{name: "time_limit", kind: kindDuration, what: "how long a message may take before its work is ended and it counts as failed; 0s as long as it takes"},
		{name: "grace", kind: kindDuration, what: "how long an operator's stop waits for messages in work; 0s as long as they take"},
		{name: "retry", kind: kindDuration, what: "how long a message waits after its first failure, doubled each time: 1s to 20m, by default 30s"},
		{name: "start_limit", kind: kindDuration, what: "with json_lines, how long the command may take to say that it is ready: 1s to 1h, by default 1m"},
		{name: "env", kind: kindText, list: true, what: "environment variables that the command gets: NAME for one of muster up, NAME=VALUE for one with a value of its own"},
		{name: "log", kind: kindText, enum: []string{"debug", "info", "warn", "error"}, what: "from which level on workers write to the fleet's log, which has what jobs print in any case; by default warn"},
		{name: "warm_up", kind: kindDuration, what: "delays the first message, to show slow boots"},
	}
}

// surroundingKeys say what a worker is to the machine that it runs on, and whom else it tells what it does.
func surroundingKeys() []key {
	return []key{
		{name: "report", kind: kindText, list: true, what: "where workers report to besides the controller: cloudwatch, cloudwatch:NAMESPACE or dynamodb:TABLE"},
		{name: "report_every", kind: kindDuration, what: "the period of the metrics of cloudwatch: 5s, 10s, 30s or 1m, the default"},
		{name: "billing_period", kind: kindDuration, what: "what the machine is paid by, as in 1h: an idle worker offers to leave shortly before the end of a period; 0s, the default, is by the second"},
		{name: "billing_margin", kind: kindDuration, what: "with billing_period, how long before its end: 1s to half of it, by default 2m at most"},
		{name: "billing_start", kind: kindText, what: "with billing_period, when the first one began, as in 2026-01-02T03:04:05Z; by default when the worker started"},
		{name: "lifecycle_hook", kind: kindText, what: "the lifecycle hook that keeps this machine, an instance of an Auto Scaling group, until its workers have finished: its name, or auto for the only one"},
		{name: "auto_scaling_group", kind: kindText, what: "with lifecycle_hook, the name of the group; asked for by default"},
	}
}
