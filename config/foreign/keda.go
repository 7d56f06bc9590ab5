package foreign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
)

// KEDA's defaults.
const (
	kedaMax      = 100
	kedaCooldown = 5 * time.Minute
	kedaLength   = 5
)

// scaledObject takes in a ScaledObject of KEDA.
func (r *reader) scaledObject(n *yaml.Node) {
	metadata, spec := nodes.Get(n, "metadata"), nodes.Get(n, "spec")
	target := nodes.Get(spec, "scaleTargetRef")
	d := &draft{reader: r, at: n}
	d.Name = orElse(
		nodes.Plain(nodes.Or(nodes.Get(target, "name"), nodes.Get(target, "deploymentName"))),
		nodes.Plain(nodes.Get(metadata, "name")),
	)
	d.From = fmt.Sprintf(
		"the ScaledObject %s of the %s %s", nodes.Plain(nodes.Get(metadata, "name")),
		orElse(nodes.Plain(nodes.Get(target, "kind")), "Deployment"), d.Name,
	)
	d.Max, d.steady, d.Kubernetes = kedaMax, true, "KEDA"
	d.workload = r.workload(d.Name)
	if m := nodes.Get(spec, "minReplicaCount"); m != nil {
		d.Min = d.size(m, value{text: nodes.Plain(m)}, "minReplicaCount", 0)
	}
	if m := nodes.Get(spec, "maxReplicaCount"); m != nil {
		d.Max = d.size(m, value{text: nodes.Plain(m)}, "maxReplicaCount", kedaMax)
	}
	d.pace(spec)
	for _, trigger := range nodes.Elements(nodes.Get(spec, "triggers")) {
		d.trigger(trigger)
	}
	d.settleQueues()
	d.advanced(nodes.Get(spec, "advanced"))
	d.cooldownPeriod(nodes.Get(spec, "cooldownPeriod"))
	d.annotations(metadata)
	d.rest(
		spec, "spec", "scaleTargetRef", "minReplicaCount", "maxReplicaCount", "pollingInterval", "cooldownPeriod",
		"triggers", "advanced",
	)
	if len(d.Queues) == 0 && d.Prometheus.Query == "" {
		d.remark("No queue is known of it. Name the queue whose messages its workers take.")
	}
	r.fleets = append(r.fleets, d.done())
}

// annotations notes what annotations pause.
func (d *draft) annotations(metadata *yaml.Node) {
	nodes.Pairs(nodes.Get(metadata, "annotations"), func(key, v *yaml.Node) {
		if strings.HasPrefix(key.Value, "autoscaling.keda.sh/paused") {
			d.note(key, "%s is not carried over", key.Value)
		}
	})
}

// scaledJob takes in a ScaledJob of KEDA: a Job for each so many messages, which ends when it has done them. The policy
// exact is that: a slot for each message, and workers that leave when they are idle.
func (r *reader) scaledJob(n *yaml.Node) {
	metadata, spec := nodes.Get(n, "metadata"), nodes.Get(n, "spec")
	d := &draft{reader: r, at: n}
	d.Name = nodes.Plain(nodes.Get(metadata, "name"))
	d.From = fmt.Sprintf("the ScaledJob %s", d.Name)
	d.Max, d.steady, d.Kubernetes = kedaMax, true, "KEDA"
	d.workload = nodes.At(spec, "jobTargetRef", "template", "spec")
	if m := nodes.Get(spec, "minReplicaCount"); m != nil {
		d.Min = d.size(m, value{text: nodes.Plain(m)}, "minReplicaCount", 0)
	}
	if m := nodes.Get(spec, "maxReplicaCount"); m != nil {
		d.Max = d.size(m, value{text: nodes.Plain(m)}, "maxReplicaCount", kedaMax)
	}
	if p := nodes.Get(spec, "pollingInterval"); p != nil {
		d.Poll = d.seconds(p, nodes.Plain(p), "pollingInterval", time.Hour)
	}
	length := 0.0
	for _, trigger := range nodes.Elements(nodes.Get(spec, "triggers")) {
		if kind := nodes.Plain(nodes.Get(trigger, "type")); kind != "aws-sqs-queue" {
			d.other(trigger, kind)
			continue
		}
		m := nodes.Get(trigger, "metadata")
		d.queueOf(trigger, m)
		if l := d.amount(m, "queueLength", kedaLength); length == 0 {
			length = l
		}
	}
	d.settleQueues()
	if length > 0 {
		d.jobs(nodes.Get(spec, "scalingStrategy"), length)
	}
	d.annotations(metadata)
	d.rest(
		spec, "spec", "jobTargetRef", "minReplicaCount", "maxReplicaCount", "pollingInterval", "triggers",
		"scalingStrategy", "successfulJobsHistoryLimit", "failedJobsHistoryLimit", "scaleType", "cooldownPeriod",
		"rollout", "rolloutStrategy", "envSourceContainerName",
	)
	if len(d.Queues) == 0 {
		d.remark("No queue is known of it. Name the queue whose messages its Jobs take.")
	}
	r.fleets = append(r.fleets, d.done())
}

// jobs makes the policy of a ScaledJob of so many messages a Job.
func (d *draft) jobs(strategy *yaml.Node, length float64) {
	d.add(d.at, policy.Spec{Name: "exact"})
	d.Slots = int(min(max(1, length), 1000))
	if float64(d.Slots) != length {
		d.remark("A Job is made for each %s messages; %d slots stand for that.", words(length), d.Slots)
	} else if d.Slots > 1 {
		d.remark("A Job is made for each %d messages, so a worker has %d slots. Where a Job takes them one after "+
			"the other, policy: deadline with one slot says how many are needed to be in time.", d.Slots, d.Slots)
	}
	d.remark(
		"A Job ends when its work is done. A worker of exact leaves when it was idle for some time " +
			"(workers.idle); tasks without a service are the like of it on Amazon ECS: ecs with cluster and " +
			"task_definition.",
	)
	d.Peer = fmt.Sprintf("keda-job[%g]", length)
	switch name := nodes.Plain(nodes.Get(strategy, "strategy")); name {
	case "accurate", "eager":
		d.Peer = fmt.Sprintf("keda-job-%s[%g]", name, length)
	case "", "default":
	default:
		d.note(
			nodes.Get(strategy, "strategy"),
			"the strategy %s is not carried over: exact launches for what waits and has no worker on its way",
			brief(name),
		)
	}
	d.rest(strategy, "scalingStrategy", "strategy")
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// pace takes in how often is polled.
func (d *draft) pace(spec *yaml.Node) {
	if p := nodes.Get(spec, "pollingInterval"); p != nil {
		if d.Poll = d.seconds(p, nodes.Plain(p), "pollingInterval", time.Hour); d.Poll > 0 {
			d.remark(
				"KEDA polls each %s, and so does this. Without poll a queue on SQS is polled each 5s.", span(d.Poll),
			)
		}
	}
}

// cooldownPeriod takes in how long the last replica stays. The window of the Kubernetes autoscaler counts for the
// others.
func (d *draft) cooldownPeriod(n *yaml.Node) {
	if len(d.Policies) == 0 {
		return
	}
	cooldown := kedaCooldown
	if n != nil {
		cooldown = d.seconds(n, nodes.Plain(n), "cooldownPeriod", 24*time.Hour)
	}
	switch {
	case d.stated && d.Min == 0 && cooldown != d.In.Stabilization:
		d.remark(
			"A fall waits for the stated window of %s. The cooldownPeriod of %s, after which the last replica "+
				"goes, is not carried over.",
			span(d.In.Stabilization), span(cooldown),
		)
	case d.stated:
	case d.Min > 0: // the period counts for the last replica alone, which stays
		d.falling(hpaWindow, "")
	case cooldown > hpaWindow:
		d.falling(
			cooldown,
			"A fall waits for the cooldownPeriod of %s, which counts for the last replica there; the window of "+
				"the Kubernetes autoscaler, %s, counts for the others.",
			span(cooldown), span(hpaWindow),
		)
	default:
		d.falling(hpaWindow, "")
		if cooldown < hpaWindow {
			d.remark(
				"A fall waits for %s, the window of the Kubernetes autoscaler. The cooldownPeriod of %s, after "+
					"which the last replica goes, is shorter.",
				span(hpaWindow), span(cooldown),
			)
		}
	}
}

// trigger takes in a trigger of a ScaledObject.
func (d *draft) trigger(n *yaml.Node) {
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

// sqs takes in a trigger on the messages of a queue.
func (d *draft) sqs(n *yaml.Node) {
	m := nodes.Get(n, "metadata")
	url := d.queueOf(n, m)
	length, activation := d.amount(m, "queueLength", kedaLength), d.amount(m, "activationQueueLength", 0)
	inFlight, delayed := true, truth(nodes.Plain(nodes.Get(m, "scaleOnDelayed")))
	if f := nodes.Get(m, "scaleOnInFlight"); f != nil {
		inFlight = truth(nodes.Plain(f))
	}
	d.average(n)
	d.rest(n, "the trigger", "type", "metadata", "metricType", "name", "authenticationRef", "useCachedMetrics")
	d.rest(
		m, "the trigger", "queueURL", "queueURLFromEnv", "queueLength", "activationQueueLength", "scaleOnInFlight",
		"scaleOnDelayed", "awsRegion", "identityOwner", "awsEndpoint",
	)
	if d.Peer == "" && inFlight {
		d.Peer = fmt.Sprintf("keda[%g]", length)
	}
	d.remark(
		"Kubernetes leaves the size alone within 10 per cent of the target, and at most doubles it each 15 " +
			"seconds; Muster does neither.",
	)
	if !inFlight && !delayed && activation == 0 {
		d.add(n, policy.Spec{Name: "backlog-per-worker", Acceptable: length})
		return
	}
	all, sum := messages(baseOf(url), inFlight, delayed)
	d.add(n, policy.Spec{Name: "metric-math", Target: length, Queries: perReplica(all, sum, activation)})
}

// average notes a type of metric other than the one that is for each replica.
func (d *draft) average(n *yaml.Node) {
	if t := nodes.Plain(nodes.Get(n, "metricType")); t != "" && t != "AverageValue" {
		d.note(
			nodes.Get(n, "metricType"), "the metric type %s is not carried over; AverageValue stands for it", brief(t),
		)
	}
}

// queueOf finds the queue of a trigger: its URL, or the variable of the workload that holds it.
func (d *draft) queueOf(n, m *yaml.Node) string {
	at := nodes.Get(m, "queueURL")
	url := nodes.Plain(at)
	if variable := nodes.Plain(nodes.Get(m, "queueURLFromEnv")); url == "" && variable != "" {
		if at = environment(d.workload, variable, 0); at == nil {
			d.note(
				nodes.Get(m, "queueURLFromEnv"),
				"the trigger names its queue by the variable %s of its workload, which is not stated here; name "+
					"the queue",
				brief(variable),
			)
			return ""
		}
		url = nodes.Plain(at)
	}
	if url == "" {
		d.note(nodes.Or(m, n), "the trigger names no queue; name it")
		return ""
	}
	d.regionOf(m)
	d.use(at, url)
	return url
}

// workload finds the Deployment, StatefulSet or the like of a name among the objects.
func (r *reader) workload(name string) *yaml.Node {
	i := slices.IndexFunc(r.objects, func(n *yaml.Node) bool {
		return nodes.Plain(nodes.At(n, "metadata", "name")) == name && nodes.At(n, "spec", "template", "spec") != nil
	})
	if i < 0 {
		return nil
	}
	return nodes.At(r.objects[i], "spec", "template", "spec")
}

// environment finds the value of a variable of the containers of a workload.
func environment(n *yaml.Node, name string, depth int) (found *yaml.Node) {
	if n == nil || depth > maxDepth {
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

// amount is a number of a trigger, above zero or its default.
func (d *draft) amount(m *yaml.Node, key string, otherwise float64) float64 {
	n := nodes.Get(m, key)
	if n == nil {
		return otherwise
	}
	v, ok := number(nodes.Plain(n))
	if !ok || v < 0 || v == 0 && otherwise > 0 {
		d.note(
			n, "found %s for %s, allowed is a number above 0; %s stands for it", brief(nodes.Plain(n)), key,
			words(otherwise),
		)
		return otherwise
	}
	return v
}

// messages are the metrics of a queue that a trigger counts, and the expression that adds them up.
func messages(queue string, inFlight, delayed bool) (all []metricmath.Query, sum string) {
	if !queueName(queue) {
		queue = unresolved
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

// advanced takes in how the Kubernetes autoscaler is told to behave.
func (d *draft) advanced(n *yaml.Node) {
	d.rest(n, "advanced", "horizontalPodAutoscalerConfig", "restoreToOriginalReplicaCount")
	config := nodes.Get(n, "horizontalPodAutoscalerConfig")
	d.rest(config, "horizontalPodAutoscalerConfig", "behavior", "name")
	d.behavior(nodes.Get(config, "behavior"))
}
