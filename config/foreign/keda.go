package foreign

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
)

// KEDA's defaults, and those of the autoscaler of Kubernetes that it sets up.
const (
	kedaMax      = 100
	kedaCooldown = 5 * time.Minute
	hpaWindow    = 5 * time.Minute
	kedaLength   = 5
)

// object takes in an object of KEDA.
func (r *reader) object(n *yaml.Node) {
	kind := plain(get(n, "kind"))
	if kind != "ScaledObject" {
		if kind == "ScaledJob" {
			r.note(get(n, "kind"), "a ScaledJob is not carried over: the policy exact launches one worker for each message")
		}
		return
	}
	metadata, spec := get(n, "metadata"), get(n, "spec")
	target := get(spec, "scaleTargetRef")
	d := &draft{reader: r, at: n}
	d.Name = plain(get(target, "name"))
	if d.Name == "" {
		d.Name = plain(get(metadata, "name"))
	}
	d.From = fmt.Sprintf("the ScaledObject %s of the %s %s", plain(get(metadata, "name")), orElse(plain(get(target, "kind")), "Deployment"), d.Name)
	d.Max, d.steady = kedaMax, true
	if m := get(spec, "minReplicaCount"); m != nil {
		d.Min = d.size(m, value{text: plain(m)}, "minReplicaCount", 0)
	}
	if m := get(spec, "maxReplicaCount"); m != nil {
		d.Max = d.size(m, value{text: plain(m)}, "maxReplicaCount", kedaMax)
	}
	d.pace(spec)
	for _, trigger := range elements(get(spec, "triggers")) {
		d.trigger(trigger)
	}
	d.advanced(get(spec, "advanced"))
	pairs(get(metadata, "annotations"), func(key, v *yaml.Node) {
		if strings.HasPrefix(key.Value, "autoscaling.keda.sh/paused") {
			d.note(key, "%s is not carried over", key.Value)
		}
	})
	d.rest(spec, "spec", "scaleTargetRef", "minReplicaCount", "maxReplicaCount", "pollingInterval", "cooldownPeriod", "triggers", "advanced")
	r.fleets = append(r.fleets, d.done())
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// pace takes in how often is looked, and how long nothing falls.
func (d *draft) pace(spec *yaml.Node) {
	if p := get(spec, "pollingInterval"); p != nil {
		if d.Poll = d.seconds(p, plain(p), "pollingInterval", time.Hour); d.Poll > 0 {
			d.remark("A pollingInterval of %s; Muster looks every second where nothing else is said.", d.Poll)
		}
	}
	cooldown := kedaCooldown
	if c := get(spec, "cooldownPeriod"); c != nil {
		cooldown = d.seconds(c, plain(c), "cooldownPeriod", 24*time.Hour)
	}
	d.In.Stabilization = max(hpaWindow, cooldown)
	if cooldown != hpaWindow {
		d.remark("The fall waits for the longer of cooldownPeriod (%s), which counts for the last worker, and the window of the Kubernetes autoscaler (%s), which counts for the others.", cooldown, hpaWindow)
	}
}

// trigger takes in a trigger.
func (d *draft) trigger(n *yaml.Node) {
	kind := plain(get(n, "type"))
	if kind == "cron" {
		d.cron(n)
		return
	}
	if kind != "aws-sqs-queue" {
		d.note(orNode(get(n, "type"), n), "a trigger of the type %s is not carried over", brief(kind))
		return
	}
	m := get(n, "metadata")
	url := plain(get(m, "queueURL"))
	if url == "" {
		d.note(orNode(m, n), "the trigger names its queue by %s; write its URL into the configuration", brief(orElse(plain(get(m, "queueURLFromEnv")), "nothing")))
	} else {
		d.use(get(m, "queueURL"), url)
	}
	length, activation := d.amount(m, "queueLength", kedaLength), d.amount(m, "activationQueueLength", 0)
	inFlight, delayed := true, truth(plain(get(m, "scaleOnDelayed")))
	if f := get(m, "scaleOnInFlight"); f != nil {
		inFlight = truth(plain(f))
	}
	if t := plain(get(n, "metricType")); t != "" && t != "AverageValue" {
		d.note(get(n, "metricType"), "the metric type %s is not carried over; AverageValue stands for it", brief(t))
	}
	d.rest(n, "the trigger", "type", "metadata", "metricType", "name", "authenticationRef", "useCachedMetrics")
	d.rest(m, "the trigger", "queueURL", "queueURLFromEnv", "queueLength", "activationQueueLength", "scaleOnInFlight", "scaleOnDelayed", "awsRegion", "identityOwner", "awsEndpoint")
	if d.Peer == "" && inFlight {
		d.Peer = fmt.Sprintf("keda[%g]", length)
	}
	d.remark("Kubernetes leaves the size alone within 10 per cent of the target, and at most doubles it each 15 seconds; Muster does neither.")
	if !inFlight && !delayed && activation == 0 {
		d.add(n, policy.Spec{Name: "backlog-per-worker", Acceptable: length})
		return
	}
	d.add(n, policy.Spec{Name: "metric-math", Target: length, Queries: perReplica(url[strings.LastIndexByte(url, '/')+1:], inFlight, delayed, activation)})
}

// amount is a number of a trigger, above zero or its default.
func (d *draft) amount(m *yaml.Node, key string, otherwise float64) float64 {
	n := get(m, key)
	if n == nil {
		return otherwise
	}
	v, ok := number(plain(n))
	if !ok || v < 0 || v == 0 && otherwise > 0 {
		d.note(n, "found %s for %s, allowed is a number above 0; %s stands for it", brief(plain(n)), key, words(otherwise))
		return otherwise
	}
	return v
}

// perReplica is the messages of a queue over the workers in service, as the Kubernetes autoscaler has it: the messages themselves
// where there is no worker, and nothing as long as they are no more than the activation.
func perReplica(queue string, inFlight, delayed bool, activation float64) []metricmath.Query {
	if !queueName(queue) {
		queue = unresolved
	}
	read := func(id, name string) metricmath.Query {
		return metricmath.Query{ID: id, ReturnData: new(false), MetricStat: &metricmath.MetricStat{Stat: "Maximum", Metric: metricmath.Metric{
			Namespace: "AWS/SQS", MetricName: name, Dimensions: []metricmath.Dimension{{Name: "QueueName", Value: queue}}}}}
	}
	all := []metricmath.Query{read("visible", "ApproximateNumberOfMessagesVisible")}
	sum := "FILL(visible, REPEAT)"
	if inFlight {
		all, sum = append(all, read("inFlight", "ApproximateNumberOfMessagesNotVisible")), sum+" + FILL(inFlight, REPEAT)"
	}
	if delayed {
		all, sum = append(all, read("delayed", "ApproximateNumberOfMessagesDelayed")), sum+" + FILL(delayed, REPEAT)"
	}
	workers := metricmath.Query{ID: "replicas", ReturnData: new(false), MetricStat: &metricmath.MetricStat{Stat: "Maximum",
		Metric: metricmath.Metric{Namespace: policy.OwnNamespace, MetricName: "InService"}}}
	share := "IF(replicas > 0, messages / replicas, messages)"
	if activation > 0 {
		share = fmt.Sprintf("IF(messages > %s, %s, 0)", words(activation), share)
	}
	return append(all, workers, metricmath.Query{ID: "messages", Expression: sum, ReturnData: new(false)},
		metricmath.Query{ID: "perReplica", Expression: share, ReturnData: new(true)})
}

// advanced takes in how the Kubernetes autoscaler is told to behave.
func (d *draft) advanced(n *yaml.Node) {
	d.rest(n, "advanced", "horizontalPodAutoscalerConfig", "restoreToOriginalReplicaCount")
	config := get(n, "horizontalPodAutoscalerConfig")
	d.rest(config, "horizontalPodAutoscalerConfig", "behavior", "name")
	behavior := get(config, "behavior")
	d.rest(behavior, "behavior", "scaleUp", "scaleDown")
	d.behave(get(behavior, "scaleUp"), "scaleUp", &d.Out)
	before := d.In.Stabilization
	d.behave(get(behavior, "scaleDown"), "scaleDown", &d.In)
	if get(get(behavior, "scaleDown"), "stabilizationWindowSeconds") == nil {
		d.In.Stabilization = before
	}
}

// behave takes in one direction of a behavior.
func (d *draft) behave(n *yaml.Node, what string, s *policy.Shape) {
	if n == nil {
		return
	}
	d.rest(n, what, "stabilizationWindowSeconds", "selectPolicy", "policies")
	if w := get(n, "stabilizationWindowSeconds"); w != nil {
		s.Stabilization = d.seconds(w, plain(w), "stabilizationWindowSeconds", time.Hour)
	}
	choice := plain(get(n, "selectPolicy"))
	if choice == "Disabled" {
		s.Disabled = true
		return
	}
	policies := elements(get(n, "policies"))
	if len(policies) > 1 && choice == "Min" {
		d.note(get(n, "selectPolicy"), "selectPolicy Min takes the smallest of several limits; here the first of them counts alone")
		policies = policies[:1]
	}
	for _, p := range policies {
		d.limit(p, s)
	}
}

// limit takes in a limit of the rate.
func (d *draft) limit(n *yaml.Node, s *policy.Shape) {
	at := get(n, "periodSeconds")
	period := d.seconds(orNode(at, n), plain(at), "periodSeconds", time.Hour)
	v, ok := number(plain(get(n, "value")))
	switch kind := plain(get(n, "type")); {
	case period == 0 || !ok || v <= 0 || v > 1e6:
		d.note(n, "a limit without a value and a period is not carried over")
	case s.Period != 0 && s.Period != period:
		d.note(n, "limits over several periods are not carried over; the first one, over %s, counts", s.Period)
	case kind == "Pods" && s.MaxWorkers == 0:
		s.MaxWorkers, s.Period = int(v), period
	case kind == "Percent" && s.MaxPercent == 0:
		s.MaxPercent, s.Period = v, period
	default:
		d.note(n, "a second limit of the type %s is not carried over", brief(kind))
	}
}
