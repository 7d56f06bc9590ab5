package foreign_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// What is written for a ScaledObject asks for as many workers as the Kubernetes autoscaler computes replicas: the
// messages that count over queueLength, rounded up; one at first, where there is none; none while there are no more
// than the activation.
func TestAScaledObjectIsSizedAsKubernetesDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length, activation := rapid.IntRange(1, 40).Draw(t, "length"), rapid.IntRange(0, 20).Draw(t, "activation")
		inFlight, delayed := rapid.Bool().Draw(t, "in flight"), rapid.Bool().Draw(t, "delayed")
		r, err := readText(
			"t.yaml",
			fmt.Appendf(
				nil,
				`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, spec: {scaleTargetRef: {name: f}, triggers: [{type: aws-sqs-queue,
			metadata: {queueURL: q, queueLength: "%d", activationQueueLength: "%d", scaleOnInFlight: "%t", scaleOnDelayed: "%t"}}]}}`,
				length,
				activation,
				inFlight,
				delayed,
			),
		)
		if err != nil {
			t.Fatal(err)
		}
		spec := r.Fleets[0].Spec()
		spec.In = policy.Shape{} // how fast it falls is another matter
		p, err := policy.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		visible, held, later := rapid.IntRange(0, 900).
			Draw(t, "visible"),
			rapid.IntRange(0, 90).
				Draw(t, "held"),
			rapid.IntRange(0, 90).
				Draw(t, "later")
		replicas := rapid.IntRange(0, 30).Draw(t, "replicas")
		d := p.Decide(muster.Observation{
			Fleet: "f", At: at, Limits: muster.Limits{Max: 10_000, LaunchesPerHour: 1_000_000},
			Queues: []muster.QueueObservation{
				{
					Queue:    "q",
					Backlog:  muster.Measured(at, float64(visible)),
					InFlight: muster.Measured(at, float64(held)),
					Delayed:  muster.Measured(at, float64(later)),
				},
			},
			Capacity: muster.Capacity{
				Known:          true,
				Desired:        replicas,
				Busy:           replicas,
				Slots:          replicas,
				BusySlots:      replicas,
				SlotsPerWorker: 1,
			},
		}, nil)
		messages := visible
		if inFlight {
			messages += held
		}
		if delayed {
			messages += later
		}
		want := int(math.Ceil(float64(messages) / float64(length)))
		switch {
		case messages <= activation:
			want = 0
		case replicas == 0 && spec.Name == "metric-math":
			want = 1
		}
		if d.Desired != want {
			t.Fatalf(
				"%d messages, %d replicas: found %d, Kubernetes has %d\n%s", messages, replicas, d.Desired, want,
				d.Sentence(),
			)
		}
	})
}
