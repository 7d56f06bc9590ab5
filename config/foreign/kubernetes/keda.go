package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
)

// This file reads the objects of KEDA. Source: the KEDA documentation, "ScaledObject specification", "ScaledJob
// specification" and the scaler "AWS SQS Queue".

// The defaults of KEDA: maxReplicaCount, cooldownPeriod and queueLength.
const (
	kedaMax      = 100
	kedaCooldown = 5 * time.Minute
	kedaLength   = 5
)

// scaledObject reads a ScaledObject: the sizes, then each trigger, then what delays a fall.
func (r *objects) scaledObject(n *yaml.Node) {
	metadata, spec := nodes.Get(n, "metadata"), nodes.Get(n, "spec")
	target := nodes.Get(spec, "scaleTargetRef")
	d := &workload{Draft: draft.Draft{At: n}}
	// The workload gives the fleet its name: that is what people look for.
	d.Name = cmp.Or(
		nodes.Plain(nodes.Or(nodes.Get(target, "name"), nodes.Get(target, "deploymentName"))),
		nodes.Plain(nodes.Get(metadata, "name")),
	)
	d.From = fmt.Sprintf(
		"the ScaledObject %s of the %s %s", nodes.Plain(nodes.Get(metadata, "name")),
		cmp.Or(nodes.Plain(nodes.Get(target, "kind")), "Deployment"), d.Name,
	)
	d.Max, d.Steady, d.Kubernetes = kedaMax, true, "KEDA"
	// The workload is needed for variables that name a queue; without it such a trigger has a note.
	d.pod = r.workload(d.Name)
	if m := nodes.Get(spec, "minReplicaCount"); m != nil {
		d.Min = d.Size(m, nodes.Plain(m), "", "minReplicaCount", 0)
	}
	// KEDA's default of 100 is written out, because Muster has none.
	if m := nodes.Get(spec, "maxReplicaCount"); m != nil {
		d.Max = d.Size(m, nodes.Plain(m), "", "maxReplicaCount", kedaMax)
	}
	d.pace(spec)
	// Several triggers are several policies, of which the maximum counts, as in KEDA.
	for _, trigger := range nodes.Elements(nodes.Get(spec, "triggers")) {
		d.trigger(trigger)
	}
	// All triggers have been read: only now is it known whether a dead-letter queue has company.
	d.SettleQueues()
	// The behavior is read before the cooldown: a stated window takes its place.
	d.advanced(nodes.Get(spec, "advanced"))
	d.cooldownPeriod(nodes.Get(spec, "cooldownPeriod"))
	// Annotations may pause what the specification says.
	d.annotations(metadata)
	d.Rest(
		spec, "spec", "scaleTargetRef", "minReplicaCount", "maxReplicaCount", "pollingInterval", "cooldownPeriod",
		"triggers", "advanced",
	)
	if len(d.Queues) == 0 && d.Prometheus.Query == "" {
		d.Remark("No queue is known of it. Name the queue whose messages its workers take.")
	}
	r.fleets = append(r.fleets, d.Done())
}

// annotations adds notes for annotations that pause scaling.
func (d *workload) annotations(metadata *yaml.Node) {
	nodes.Pairs(nodes.Get(metadata, "annotations"), func(key, v *yaml.Node) {
		if strings.HasPrefix(key.Value, "autoscaling.keda.sh/paused") {
			// A paused object scales nothing today; the fleet is in shadow mode anyway.
			d.Note(key, "%s is not carried over", key.Value)
		}
	})
}

// scaledJob reads a ScaledJob: KEDA makes a Job for each so many messages, and a Job ends when it has handled them.
// The policy exact does the same: a slot for each message, and workers that leave when they are idle.
func (r *objects) scaledJob(n *yaml.Node) {
	metadata, spec := nodes.Get(n, "metadata"), nodes.Get(n, "spec")
	d := &workload{Draft: draft.Draft{At: n}}
	d.Name = nodes.Plain(nodes.Get(metadata, "name"))
	d.From = fmt.Sprintf("the ScaledJob %s", d.Name)
	d.Max, d.Steady, d.Kubernetes = kedaMax, true, "KEDA"
	// A ScaledJob states its pod itself.
	d.pod = nodes.At(spec, "jobTargetRef", "template", "spec")
	if m := nodes.Get(spec, "minReplicaCount"); m != nil {
		d.Min = d.Size(m, nodes.Plain(m), "", "minReplicaCount", 0)
	}
	if m := nodes.Get(spec, "maxReplicaCount"); m != nil {
		d.Max = d.Size(m, nodes.Plain(m), "", "maxReplicaCount", kedaMax)
	}
	if p := nodes.Get(spec, "pollingInterval"); p != nil {
		d.Poll = d.Seconds(p, nodes.Plain(p), "pollingInterval", time.Hour)
	}
	length := 0.0
	for _, trigger := range nodes.Elements(nodes.Get(spec, "triggers")) {
		if kind := nodes.Plain(nodes.Get(trigger, "type")); kind != "aws-sqs-queue" {
			d.other(trigger, kind)
			continue
		}
		m := nodes.Get(trigger, "metadata")
		d.queueOf(trigger, m)
		// KEDA takes the maximum over triggers; a configuration has one number of slots, and the first trigger's
		// counts.
		if l := d.amount(m, "queueLength", kedaLength); length == 0 {
			length = l
		}
	}
	d.SettleQueues()
	if length > 0 {
		d.jobs(nodes.Get(spec, "scalingStrategy"), length)
	}
	d.annotations(metadata)
	d.Rest(
		spec, "spec", "jobTargetRef", "minReplicaCount", "maxReplicaCount", "pollingInterval", "triggers",
		"scalingStrategy", "successfulJobsHistoryLimit", "failedJobsHistoryLimit", "scaleType", "cooldownPeriod",
		"rollout", "rolloutStrategy", "envSourceContainerName",
	)
	if len(d.Queues) == 0 {
		d.Remark("No queue is known of it. Name the queue whose messages its Jobs take.")
	}
	r.fleets = append(r.fleets, d.Done())
}

// jobs adds the policy of a ScaledJob with so many messages per Job. The strategies that KEDA has beside "default"
// differ in how they count running Jobs; comparisons play them as baselines.
func (d *workload) jobs(strategy *yaml.Node, length float64) {
	d.Add(d.At, policy.Spec{Name: "exact"})
	// Slots are whole and bounded; queueLength is any number.
	d.Slots = int(min(max(1, length), 1000))
	if float64(d.Slots) != length {
		d.Remark("A Job is made for each %s messages; %d slots stand for that.", render.Number(length), d.Slots)
	} else if d.Slots > 1 {
		d.Remark("A Job is made for each %d messages, so a worker has %d slots. Where a Job takes them one after "+
			"the other, policy: deadline with one slot says how many are needed to be in time.", d.Slots, d.Slots)
	}
	d.Remark(
		"A Job ends when its work is done. A worker of exact leaves when it was idle for some time " +
			"(workers.idle); tasks without a service are the like of it on Amazon ECS: ecs with cluster and " +
			"task_definition.",
	)
	d.Peer = fmt.Sprintf("keda-job[%g]", length)
	switch name := nodes.Plain(nodes.Get(strategy, "strategy")); name {
	// These two have baselines of their own.
	case "accurate", "eager":
		d.Peer = fmt.Sprintf("keda-job-%s[%g]", name, length)
	case "", "default":
	default:
		d.Note(
			nodes.Get(strategy, "strategy"),
			"the strategy %s is not carried over: exact launches for what waits and has no worker on its way",
			nodes.Brief(name),
		)
	}
	d.Rest(strategy, "scalingStrategy", "strategy")
}

// pace reads the polling interval.
func (d *workload) pace(spec *yaml.Node) {
	// Without an interval the default of Muster counts, which is shorter than KEDA's 30 seconds.
	if p := nodes.Get(spec, "pollingInterval"); p != nil {
		if d.Poll = d.Seconds(p, nodes.Plain(p), "pollingInterval", time.Hour); d.Poll > 0 {
			d.Remark(
				"KEDA polls each %s, and so does this. Without poll a queue on SQS is polled each 5s.",
				draft.Span(d.Poll),
			)
		}
	}
}

// cooldownPeriod reads how long KEDA keeps the last replica. For all other replicas the window of the Kubernetes
// autoscaler counts; the longer of the two becomes the window for falls.
func (d *workload) cooldownPeriod(n *yaml.Node) {
	if len(d.Policies) == 0 {
		return
	}
	// Absent and stated cooldowns count alike: KEDA always has one.
	cooldown := kedaCooldown
	if n != nil {
		cooldown = d.Seconds(n, nodes.Plain(n), "cooldownPeriod", 24*time.Hour)
	}
	switch {
	case d.Stated && d.Min == 0 && cooldown != d.In.Stabilization:
		d.Remark(
			"A fall waits for the stated window of %s. The cooldownPeriod of %s, after which the last replica "+
				"goes, is not carried over.",
			draft.Span(d.In.Stabilization), draft.Span(cooldown),
		)
	case d.Stated:
	// With a minimum above 0 the last replica stays anyway, and only the autoscaler's window is left.
	case d.Min > 0: // the period counts for the last replica alone, which stays
		d.Falling(hpaWindow, "")
	case cooldown > hpaWindow:
		d.Falling(
			cooldown,
			"A fall waits for the cooldownPeriod of %s, which counts for the last replica there; the window of "+
				"the Kubernetes autoscaler, %s, counts for the others.",
			draft.Span(cooldown), draft.Span(hpaWindow),
		)
	default:
		d.Falling(hpaWindow, "")
		if cooldown < hpaWindow {
			d.Remark(
				"A fall waits for %s, the window of the Kubernetes autoscaler. The cooldownPeriod of %s, after "+
					"which the last replica goes, is shorter.",
				draft.Span(hpaWindow), draft.Span(cooldown),
			)
		}
	}
}

// trigger reads a trigger of a ScaledObject by its type.
func (d *workload) trigger(n *yaml.Node) {
	switch kind := nodes.Plain(nodes.Get(n, "type")); kind {
	case "cron":
		d.cron(n)
	case "aws-sqs-queue":
		d.sqs(n)
	case "aws-cloudwatch":
		d.cloudwatch(n)
	case "prometheus":
		d.prometheus(n)
	default:
		d.other(n, kind)
	}
}

// sqs reads a trigger on the messages of a queue. KEDA counts messages in flight unless told otherwise, and delayed
// ones only if told; the backlog alone is backlog-per-worker, any sum is a metric-math expression.
func (d *workload) sqs(n *yaml.Node) {
	m := nodes.Get(n, "metadata")
	// The trigger is read even without a queue: its target is worth a policy that only lacks the name.
	url := d.queueOf(n, m)
	length, activation := d.amount(m, "queueLength", kedaLength), d.amount(m, "activationQueueLength", 0)
	// scaleOnInFlight is true in KEDA unless stated.
	inFlight, delayed := true, nodes.True(nodes.Plain(nodes.Get(m, "scaleOnDelayed")))
	// Only the stated value is read here; the default stays.
	if f := nodes.Get(m, "scaleOnInFlight"); f != nil {
		inFlight = nodes.True(nodes.Plain(f))
	}
	d.average(n)
	d.Rest(n, "the trigger", "type", "metadata", "metricType", "name", "authenticationRef", "useCachedMetrics")
	d.Rest(
		m, "the trigger", "queueURL", "queueURLFromEnv", "queueLength", "activationQueueLength", "scaleOnInFlight",
		"scaleOnDelayed", "awsRegion", "identityOwner", "awsEndpoint",
	)
	// The baseline "keda" counts messages in flight, so it stands only for triggers that do.
	if d.Peer == "" && inFlight {
		d.Peer = fmt.Sprintf("keda[%g]", length)
	}
	d.Remark(
		"Kubernetes leaves the size alone within 10 per cent of the target, and at most doubles it each 15 " +
			"seconds; Muster does neither.",
	)
	// The plain case has a policy of its own, which needs no expression.
	if !inFlight && !delayed && activation == 0 {
		d.Add(n, policy.Spec{Name: "backlog-per-worker", Acceptable: length})
		return
	}
	all, sum := messages(draft.BaseOf(url), inFlight, delayed)
	d.Add(n, policy.Spec{Name: "metric-math", Target: length, Queries: perReplica(all, sum, activation)})
}

// average adds a note for a metric type other than the average per replica.
func (d *workload) average(n *yaml.Node) {
	if t := nodes.Plain(nodes.Get(n, "metricType")); t != "" && t != "AverageValue" {
		d.Note(
			nodes.Get(n, "metricType"), "the metric type %s is not carried over; AverageValue stands for it",
			nodes.Brief(t),
		)
	}
}

// queueOf adds the queue of a trigger: its URL, or the variable of the workload that holds the URL.
func (d *workload) queueOf(n, m *yaml.Node) string {
	at := nodes.Get(m, "queueURL")
	url := nodes.Plain(at)
	if variable := nodes.Plain(nodes.Get(m, "queueURLFromEnv")); url == "" && variable != "" {
		if at = environment(d.pod, variable, 0); at == nil {
			d.Note(
				nodes.Get(m, "queueURLFromEnv"),
				"the trigger names its queue by the variable %s of its workload, which is not stated here; name "+
					"the queue",
				nodes.Brief(variable),
			)
			return ""
		}
		url = nodes.Plain(at)
	}
	// A trigger without a queue cannot be compared with anything.
	if url == "" {
		d.Note(nodes.Or(m, n), "the trigger names no queue; name it")
		return ""
	}
	d.regionOf(m)
	d.Use(at, url)
	return url
}

// workload returns the pod specification of the Deployment, StatefulSet or the like with a name; nil for none.
func (r *objects) workload(name string) *yaml.Node {
	i := slices.IndexFunc(r.all, func(n *yaml.Node) bool {
		// Anything with a pod template counts, so that custom workloads are found as well.
		return nodes.Plain(nodes.At(n, "metadata", "name")) == name && nodes.At(n, "spec", "template", "spec") != nil
	})
	if i < 0 {
		return nil
	}
	return nodes.At(r.all[i], "spec", "template", "spec")
}

// environment returns the value of a variable of a workload's containers; nil when it is not stated.
func environment(n *yaml.Node, name string, depth int) (found *yaml.Node) {
	if n == nil || depth > nodes.MaxDepth {
		return nil
	}
	if v := nodes.Get(n, "value"); nodes.Plain(nodes.Get(n, "name")) == name && nodes.Plain(v) != "" {
		return v
	}
	for _, c := range n.Content {
		if found == nil {
			found = environment(c, name, depth+1)
		}
	}
	return found
}

// amount returns a number of a trigger, above 0, or otherwise.
func (d *workload) amount(m *yaml.Node, key string, otherwise float64) float64 {
	n := nodes.Get(m, key)
	if n == nil {
		return otherwise
	}
	v, ok := nodes.Number(nodes.Plain(n))
	// Zero is allowed only where it is the default, as for activations.
	if !ok || v < 0 || v == 0 && otherwise > 0 {
		d.Note(
			n, "found %s for %s, allowed is a number above 0; %s stands for it", nodes.Brief(nodes.Plain(n)), key,
			render.Number(otherwise),
		)
		return otherwise
	}
	return v
}

// messages returns the metrics of a queue that a trigger counts, and the expression of their sum. A missing point
// repeats the one before: CloudWatch publishes queue metrics a minute late, and a gap is not 0.
func messages(queue string, inFlight, delayed bool) (all []metricmath.Query, sum string) {
	// The expression needs some name; the missing queue has a note already.
	if !draft.QueueName(queue) {
		queue = draft.Unresolved
	}
	read := func(id, name string) metricmath.Query {
		m := metricmath.Metric{Namespace: "AWS/SQS", MetricName: name,
			Dimensions: []metricmath.Dimension{{Name: "QueueName", Value: queue}}}
		return metricmath.Query{ID: id, ReturnData: new(false),
			MetricStat: &metricmath.MetricStat{Stat: "Maximum", Metric: m}}
	}
	all, sum = append(all, read("visible", "ApproximateNumberOfMessagesVisible")), "FILL(visible, REPEAT)"
	if inFlight {
		all, sum = append(
			all, read("inFlight", "ApproximateNumberOfMessagesNotVisible"),
		), sum+" + FILL(inFlight, REPEAT)"
	}
	if delayed {
		all, sum = append(all, read("delayed", "ApproximateNumberOfMessagesDelayed")), sum+" + FILL(delayed, REPEAT)"
	}
	return all, sum
}

// advanced reads the behavior that a ScaledObject sets for the Kubernetes autoscaler.
func (d *workload) advanced(n *yaml.Node) {
	d.Rest(n, "advanced", "horizontalPodAutoscalerConfig", "restoreToOriginalReplicaCount")
	config := nodes.Get(n, "horizontalPodAutoscalerConfig")
	d.Rest(config, "horizontalPodAutoscalerConfig", "behavior", "name")
	d.behavior(nodes.Get(config, "behavior"))
}
