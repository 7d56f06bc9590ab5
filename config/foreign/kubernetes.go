package foreign

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
)

// The defaults of the autoscaler of Kubernetes.
const (
	hpaWindow = 5 * time.Minute
	hpaMin    = 1
)

// kubernetes takes in the objects that say how to scale.
func (r *reader) kubernetes() {
	for _, n := range r.objects {
		group, _, _ := strings.Cut(nodes.Plain(nodes.Get(n, "apiVersion")), "/")
		keda := group == "keda.sh" || group == "keda.k8s.io" // the second one until KEDA 1
		switch kind := nodes.Plain(nodes.Get(n, "kind")); {
		case keda && (kind == "ScaledJob" || nodes.Plain(nodes.At(n, "spec", "scaleType")) == "job"):
			r.scaledJob(n)
		case keda && kind == "ScaledObject":
			r.scaledObject(n)
		case group == "autoscaling" && kind == "HorizontalPodAutoscaler":
			r.horizontal(n)
		}
	}
}

// horizontal takes in a HorizontalPodAutoscaler of the versions v2, and of v1 what it has.
func (r *reader) horizontal(n *yaml.Node) {
	metadata, spec := nodes.Get(n, "metadata"), nodes.Get(n, "spec")
	target := nodes.Get(spec, "scaleTargetRef")
	name := nodes.Plain(nodes.Get(metadata, "name"))
	if nodes.Plain(nodes.At(metadata, "labels", "app.kubernetes.io/managed-by")) == "keda-operator" {
		r.note(
			n, "the HorizontalPodAutoscaler %s is one that KEDA makes; import the ScaledObject that it is made from",
			name,
		)
		return
	}
	d := &draft{reader: r, at: n}
	d.Name = orElse(nodes.Plain(nodes.Get(target, "name")), name)
	d.From = fmt.Sprintf(
		"the HorizontalPodAutoscaler %s of the %s %s", name,
		orElse(nodes.Plain(nodes.Get(target, "kind")), "Deployment"), d.Name,
	)
	d.Kubernetes = "the HorizontalPodAutoscaler"
	d.Min, d.Max, d.steady = hpaMin, unstatedMax, true
	if m := nodes.Get(spec, "minReplicas"); m != nil {
		d.Min = d.size(m, value{text: nodes.Plain(m)}, "minReplicas", hpaMin)
	}
	m := nodes.Get(spec, "maxReplicas")
	d.Max = d.size(nodes.Or(m, spec), value{text: nodes.Plain(m)}, "maxReplicas", unstatedMax)
	for _, metric := range nodes.Elements(nodes.Get(spec, "metrics")) {
		d.podMetric(metric)
	}
	if c := nodes.Get(spec, "targetCPUUtilizationPercentage"); c != nil {
		d.note(c, "%s", noUsage("cpu"))
	}
	d.behavior(nodes.Get(spec, "behavior"))
	d.falling(hpaWindow, "")
	d.rest(
		spec, "spec", "scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior",
		"targetCPUUtilizationPercentage",
	)
	if len(d.Queues) == 0 {
		d.remark("No queue is known of it. Name the queue whose messages its workers take.")
	}
	r.fleets = append(r.fleets, d.done())
}

// noUsage says why a target for what pods use is not carried over.
func noUsage(resource string) string {
	return fmt.Sprintf(
		"a target for %s is not carried over: Muster does not read what pods use, and it says nothing of the "+
			"messages that wait",
		resource,
	)
}

// podMetric takes in one metric of a HorizontalPodAutoscaler.
func (d *draft) podMetric(n *yaml.Node) {
	at := nodes.Or(nodes.Get(n, "type"), n)
	switch kind := nodes.Plain(nodes.Get(n, "type")); kind {
	case "Resource", "ContainerResource":
		of := nodes.Or(nodes.Get(n, "resource"), nodes.Get(n, "containerResource"))
		d.note(at, "%s", noUsage(orElse(nodes.Plain(nodes.Get(of, "name")), "a resource")))
	case "External":
		d.external(at, nodes.Get(n, "external"))
	default:
		d.note(at, "a metric of the type %s is not carried over: Muster reads no metrics of Kubernetes", brief(kind))
	}
}

// external takes in an external metric, if its name says that it is the number of messages in a queue.
func (d *draft) external(at, n *yaml.Node) {
	metric, target := nodes.Get(n, "metric"), nodes.Get(n, "target")
	name := nodes.Plain(nodes.Get(metric, "name"))
	average := nodes.Get(target, "averageValue")
	length, ok := quantity(nodes.Plain(nodes.Or(average, nodes.Get(target, "value"))))
	switch {
	case !countsMessages(name):
		d.note(
			at,
			"the external metric %s is not carried over: its name does not say that it counts the messages of a "+
				"queue, and Muster reads no metrics of Kubernetes",
			brief(name),
		)
		return
	case !ok:
		d.note(at, "the external metric %s has no target above 0; it is not carried over", brief(name))
		return
	case average == nil:
		d.note(
			at,
			"the external metric %s has a target for its value in place of one for each pod, which adding pods "+
				"does not keep; it is not carried over",
			brief(name),
		)
		return
	}
	nodes.Pairs(nodes.At(metric, "selector", "matchLabels"), func(key, v *yaml.Node) {
		if strings.Contains(strings.ToLower(key.Value), "queue") && v.Value != "" {
			d.use(v, v.Value)
		}
	})
	d.add(at, policy.Spec{Name: "backlog-per-worker", Acceptable: length})
	d.remark(
		"The external metric %s is taken for the messages that wait, of which each pod is to have %s. Kubernetes "+
			"leaves the size alone within 10 per cent of the target; Muster does not.",
		name, words(length),
	)
}

// countsMessages tells whether a metric's name says that it is how many messages wait in a queue.
func countsMessages(name string) bool {
	bare := strings.NewReplacer("-", "", "_", "", ".", "", ":", "", "|", "").Replace(strings.ToLower(name))
	if !strings.Contains(bare, "sqs") && !strings.Contains(bare, "queue") {
		return false
	}
	for _, word := range []string{"messages", "queuelength", "queuedepth", "queuesize", "backlog"} {
		if strings.Contains(bare, word) {
			return !strings.Contains(bare, "age") || strings.Contains(bare, "messages")
		}
	}
	return false
}

// quantity reads a quantity of Kubernetes above zero, as 30, 500m or 1k.
func quantity(text string) (float64, bool) {
	factor := 1.0
	for suffix, f := range map[string]float64{"m": 0.001, "k": 1000, "M": 1e6} {
		if bare, is := strings.CutSuffix(text, suffix); is {
			text, factor = bare, f
			break
		}
	}
	v, ok := number(text)
	return v * factor, ok && v > 0 && v*factor < 1e9
}

// behavior takes in how the autoscaler of Kubernetes is told to behave.
func (d *draft) behavior(n *yaml.Node) {
	d.rest(n, "behavior", "scaleUp", "scaleDown")
	d.behave(nodes.Get(n, "scaleUp"), "scaleUp", &d.Out)
	d.behave(nodes.Get(n, "scaleDown"), "scaleDown", &d.In)
}

// behave takes in one direction of a behavior.
func (d *draft) behave(n *yaml.Node, what string, s *policy.Shape) {
	if n == nil {
		return
	}
	d.rest(n, what, "stabilizationWindowSeconds", "selectPolicy", "policies")
	if w := nodes.Get(n, "stabilizationWindowSeconds"); w != nil {
		s.Stabilization = d.seconds(w, nodes.Plain(w), "stabilizationWindowSeconds", time.Hour)
		d.stated = d.stated || what == "scaleDown"
	}
	choice := nodes.Plain(nodes.Get(n, "selectPolicy"))
	if choice == "Disabled" {
		s.Disabled = true
		return
	}
	policies := nodes.Elements(nodes.Get(n, "policies"))
	if len(policies) > 1 && choice == "Min" {
		d.note(
			nodes.Get(n, "selectPolicy"),
			"selectPolicy Min takes the smallest of several limits; here the first of them counts alone",
		)
		policies = policies[:1]
	}
	for _, p := range policies {
		d.limit(p, s)
	}
}

// limit takes in a limit of the rate.
func (d *draft) limit(n *yaml.Node, s *policy.Shape) {
	at := nodes.Get(n, "periodSeconds")
	period := d.seconds(nodes.Or(at, n), nodes.Plain(at), "periodSeconds", time.Hour)
	v, ok := number(nodes.Plain(nodes.Get(n, "value")))
	switch kind := nodes.Plain(nodes.Get(n, "type")); {
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

// perReplica is a number of messages over the workers in service, as the Kubernetes autoscaler has it: the messages
// themselves where there is no worker, and nothing as long as they are no more than the activation. all are the metrics
// that sum adds up; they have one period.
func perReplica(all []metricmath.Query, sum string, activation float64) []metricmath.Query {
	workers := metricmath.Query{
		ID:         "replicas",
		ReturnData: new(false),
		MetricStat: &metricmath.MetricStat{Stat: "Maximum", PeriodSeconds: all[0].MetricStat.PeriodSeconds,
			Metric: metricmath.Metric{Namespace: policy.OwnNamespace, MetricName: "InService"}},
	}
	share := "IF(replicas > 0, messages / replicas, messages)"
	if activation > 0 {
		share = fmt.Sprintf("IF(messages > %s, %s, 0)", words(activation), share)
	}
	return append(all, workers, metricmath.Query{ID: "messages", Expression: sum, ReturnData: new(false)},
		metricmath.Query{ID: "perReplica", Expression: share, ReturnData: new(true)})
}
