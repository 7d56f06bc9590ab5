package kubernetes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
)

// This file reads HorizontalPodAutoscalers, and the behavior that KEDA passes on to them. Source: the Kubernetes
// documentation, "Horizontal Pod Autoscaling", and the API reference autoscaling/v2.

// The defaults of the Kubernetes autoscaler: the stabilization window of falls and minReplicas.
const (
	hpaWindow = 5 * time.Minute
	hpaMin    = 1
)

// workload is a fleet while it is read from an object.
type workload struct {
	draft.Draft
	// pod is the pod specification of the workload; nil when it is not among the objects.
	pod *yaml.Node
}

// objects are the objects of one reading.
type objects struct {
	// all are the objects as they were written; notes are about no fleet in particular.
	all    []*yaml.Node
	notes  *nodes.Notes
	fleets []*draft.Draft
}

// Read returns a fleet for each object that says how to scale. Notes about no fleet are added to notes.
func Read(all []*yaml.Node, notes *nodes.Notes) []*draft.Draft {
	r := &objects{all: all, notes: notes}
	for _, n := range all {
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
	return r.fleets
}

// horizontal reads a HorizontalPodAutoscaler of version v2, or as much of one as v1 has.
func (r *objects) horizontal(n *yaml.Node) {
	metadata, spec := nodes.Get(n, "metadata"), nodes.Get(n, "spec")
	target := nodes.Get(spec, "scaleTargetRef")
	name := nodes.Plain(nodes.Get(metadata, "name"))
	// KEDA makes an autoscaler of each ScaledObject. Reading both would give two fleets for one workload.
	if nodes.Plain(nodes.At(metadata, "labels", "app.kubernetes.io/managed-by")) == "keda-operator" {
		r.notes.Add(
			n, "the HorizontalPodAutoscaler %s is one that KEDA makes; import the ScaledObject that it is made from",
			name,
		)
		return
	}
	// The target's name, and not the autoscaler's own, is what people know the fleet by.
	d := &workload{Draft: draft.Draft{At: n}}
	d.Name = cmp.Or(nodes.Plain(nodes.Get(target, "name")), name)
	d.From = fmt.Sprintf(
		"the HorizontalPodAutoscaler %s of the %s %s", name,
		cmp.Or(nodes.Plain(nodes.Get(target, "kind")), "Deployment"), d.Name,
	)
	d.Kubernetes = "the HorizontalPodAutoscaler"
	// Kubernetes scales in unless its behavior disables that.
	d.Min, d.Max, d.Steady = hpaMin, draft.UnstatedMax, true
	if m := nodes.Get(spec, "minReplicas"); m != nil {
		d.Min = d.Size(m, nodes.Plain(m), "", "minReplicas", hpaMin)
	}
	m := nodes.Get(spec, "maxReplicas")
	d.Max = d.Size(nodes.Or(m, spec), nodes.Plain(m), "", "maxReplicas", draft.UnstatedMax)
	for _, metric := range nodes.Elements(nodes.Get(spec, "metrics")) {
		d.podMetric(metric)
	}
	// The only metric of version v1.
	if c := nodes.Get(spec, "targetCPUUtilizationPercentage"); c != nil {
		d.Note(c, "%s", noUsage("cpu"))
	}
	// The behavior comes after the metrics: its windows bound what they want.
	d.behavior(nodes.Get(spec, "behavior"))
	// The default window; a stated one has been read by then and takes its place.
	d.Falling(hpaWindow, "")
	d.Rest(
		spec, "spec", "scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior",
		"targetCPUUtilizationPercentage",
	)
	if len(d.Queues) == 0 {
		d.Remark("No queue is known of it. Name the queue whose messages its workers take.")
	}
	r.fleets = append(r.fleets, d.Done())
}

// noUsage says why a target for the usage of pods is not carried over.
func noUsage(resource string) string {
	return fmt.Sprintf(
		"a target for %s is not carried over: Muster does not read what pods use, and it says nothing of the "+
			"messages that wait",
		resource,
	)
}

// podMetric reads one metric of a HorizontalPodAutoscaler.
func (d *workload) podMetric(n *yaml.Node) {
	at := nodes.Or(nodes.Get(n, "type"), n)
	switch kind := nodes.Plain(nodes.Get(n, "type")); kind {
	case "Resource", "ContainerResource":
		of := nodes.Or(nodes.Get(n, "resource"), nodes.Get(n, "containerResource"))
		d.Note(at, "%s", noUsage(cmp.Or(nodes.Plain(nodes.Get(of, "name")), "a resource")))
	case "External":
		d.external(at, nodes.Get(n, "external"))
	default:
		d.Note(at, "a metric of the type %s is not carried over: Muster reads no metrics of Kubernetes",
			nodes.Brief(kind))
	}
}

// external reads an external metric, if its name says that it counts the messages of a queue. The queue's name comes
// from a label of the metric, where there is one.
func (d *workload) external(at, n *yaml.Node) {
	metric, target := nodes.Get(n, "metric"), nodes.Get(n, "target")
	name := nodes.Plain(nodes.Get(metric, "name"))
	average := nodes.Get(target, "averageValue")
	// Targets are quantities: 500m is half a message per pod.
	length, ok := quantity(nodes.Plain(nodes.Or(average, nodes.Get(target, "value"))))
	switch {
	case !countsMessages(name):
		d.Note(
			at,
			"the external metric %s is not carried over: its name does not say that it counts the messages of a "+
				"queue, and Muster reads no metrics of Kubernetes",
			nodes.Brief(name),
		)
		return
	case !ok:
		d.Note(at, "the external metric %s has no target above 0; it is not carried over", nodes.Brief(name))
		return
	// A target for the whole value cannot be kept by adding pods,.
	case average == nil:
		d.Note(
			at,
			"the external metric %s has a target for its value in place of one for each pod, which adding pods "+
				"does not keep; it is not carried over",
			nodes.Brief(name),
		)
		return
	}
	// Adapters name the queue in a label of the metric, under keys of their own.
	nodes.Pairs(nodes.At(metric, "selector", "matchLabels"), func(key, v *yaml.Node) {
		if strings.Contains(strings.ToLower(key.Value), "queue") && v.Value != "" {
			d.Use(v, v.Value)
		}
	})
	d.Add(at, policy.Spec{Name: "backlog-per-worker", Acceptable: length})
	d.Remark(
		"The external metric %s is taken for the messages that wait, of which each pod is to have %s. Kubernetes "+
			"leaves the size alone within 10 per cent of the target; Muster does not.",
		name, render.Number(length),
	)
}

// countsMessages tells whether a metric's name says that it counts the messages that wait in a queue. Ages of
// messages are excluded.
func countsMessages(name string) bool {
	bare := strings.NewReplacer("-", "", "_", "", ".", "", ":", "", "|", "").Replace(strings.ToLower(name))
	if !strings.Contains(bare, "sqs") && !strings.Contains(bare, "queue") {
		return false
	}
	for _, word := range []string{"messages", "queuelength", "queuedepth", "queuesize", "backlog"} {
		if strings.Contains(bare, word) {
			// "messages" contains "age", so an age is only recognized without that word.
			return !strings.Contains(bare, "age") || strings.Contains(bare, "messages")
		}
	}
	return false
}

// quantity returns a quantity of Kubernetes above 0, such as 30, 500m or 1k.
func quantity(text string) (float64, bool) {
	factor := 1.0
	for suffix, f := range map[string]float64{"m": 0.001, "k": 1000, "M": 1e6} {
		if bare, is := strings.CutSuffix(text, suffix); is {
			text, factor = bare, f
			break
		}
	}
	v, ok := nodes.Number(text)
	return v * factor, ok && v > 0 && v*factor < 1e9
}

// behavior reads the behavior of the Kubernetes autoscaler in both directions.
func (d *workload) behavior(n *yaml.Node) {
	d.Rest(n, "behavior", "scaleUp", "scaleDown")
	d.behave(nodes.Get(n, "scaleUp"), "scaleUp", &d.Out)
	d.behave(nodes.Get(n, "scaleDown"), "scaleDown", &d.In)
}

// behave reads one direction of a behavior.
func (d *workload) behave(n *yaml.Node, what string, s *policy.Shape) {
	if n == nil {
		return
	}
	d.Rest(n, what, "stabilizationWindowSeconds", "selectPolicy", "policies")
	// A stated window for falls replaces every default, 0 included.
	if w := nodes.Get(n, "stabilizationWindowSeconds"); w != nil {
		s.Stabilization = d.Seconds(w, nodes.Plain(w), "stabilizationWindowSeconds", time.Hour)
		d.Stated = d.Stated || what == "scaleDown"
	}
	choice := nodes.Plain(nodes.Get(n, "selectPolicy"))
	// Limits of a disabled direction have no effect.
	if choice == "Disabled" {
		s.Disabled = true
		return
	}
	policies := nodes.Elements(nodes.Get(n, "policies"))
	// The default, Max, allows the largest change: a configuration's limits do the same.
	if len(policies) > 1 && choice == "Min" {
		d.Note(
			nodes.Get(n, "selectPolicy"),
			"selectPolicy Min takes the smallest of several limits; here the first of them counts alone",
		)
		policies = policies[:1]
	}
	for _, p := range policies {
		d.limit(p, s)
	}
}

// limit reads a limit of the rate: so many pods, or so many percent, in a period. A configuration has one period for
// both.
func (d *workload) limit(n *yaml.Node, s *policy.Shape) {
	at := nodes.Get(n, "periodSeconds")
	period := d.Seconds(nodes.Or(at, n), nodes.Plain(at), "periodSeconds", time.Hour)
	v, ok := nodes.Number(nodes.Plain(nodes.Get(n, "value")))
	switch kind := nodes.Plain(nodes.Get(n, "type")); {
	case period == 0 || !ok || v <= 0 || v > 1e6:
		d.Note(n, "a limit without a value and a period is not carried over")
	// A configuration has one period for both kinds of limits.
	case s.Period != 0 && s.Period != period:
		d.Note(n, "limits over several periods are not carried over; the first one, over %s, counts", s.Period)
	case kind == "Pods" && s.MaxWorkers == 0:
		s.MaxWorkers, s.Period = int(v), period
	case kind == "Percent" && s.MaxPercent == 0:
		s.MaxPercent, s.Period = v, period
	default:
		d.Note(n, "a second limit of the type %s is not carried over", nodes.Brief(kind))
	}
}

// perReplica returns the expression of the messages per worker in service, as the Kubernetes autoscaler computes it:
// the messages themselves while there is no worker, and 0 as long as they do not exceed the activation. sum adds up
// the metrics in all, which share one period.
func perReplica(all []metricmath.Query, sum string, activation float64) []metricmath.Query {
	workers := metricmath.Query{
		ID:         "replicas",
		ReturnData: new(false),
		MetricStat: &metricmath.MetricStat{Stat: "Maximum", PeriodSeconds: all[0].MetricStat.PeriodSeconds,
			Metric: metricmath.Metric{Namespace: policy.OwnNamespace, MetricName: "InService"}},
	}
	// Without workers the division would give nothing, and nothing would be launched.
	share := "IF(replicas > 0, messages / replicas, messages)"
	if activation > 0 {
		share = fmt.Sprintf("IF(messages > %s, %s, 0)", render.Number(activation), share)
	}
	return append(all, workers, metricmath.Query{ID: "messages", Expression: sum, ReturnData: new(false)},
		metricmath.Query{ID: "perReplica", Expression: share, ReturnData: new(true)})
}
