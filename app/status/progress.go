package status

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// atWorkers renders how many messages are in progress at workers. Where retries are unknown, the messages in flight are
// the upper bound.
func atWorkers(o muster.Observation) string {
	if p := o.Progress.Value(); p.Working.Known || !o.InFlight().Known {
		return count(p.Working)
	}
	return "<=" + count(o.InFlight())
}

// shareInTime renders the share of messages in time. Only a share of exactly 1 prints as 100%, and only 0 as 0%.
func shareInTime(s muster.Sample) string {
	if !s.Known {
		return "?"
	}
	percent := 100 * s.Value
	switch rounded := math.Round(percent*10) / 10; {
	case rounded == 100 && percent < 100:
		return ">99.9%"
	case rounded == 0 && percent > 0:
		return "<0.1%"
	default:
		return render.Number(rounded) + "%"
	}
}

// PrintProgress prints failures, messages waiting for a retry and late ones; nothing when all goes well. told is true
// when the caller prints failed attempts and the last error itself.
func PrintProgress(w io.Writer, o muster.Observation, told bool) {
	if parts := troubles(o, told); len(parts) > 0 {
		fmt.Fprintf(w, "  work: %s\n", strings.Join(parts, ", "))
	}
	p := o.Progress.Value()
	if p.LastError != "" && !told {
		ago := render.Seconds(math.Round(max(0, o.At.Sub(p.LastErrorAt).Seconds())))
		fmt.Fprintf(w, "  last error %s ago, at %s: %s\n", ago, p.LastErrorAt.Local().Format("15:04:05"), p.LastError)
	}
}

// Troubles lists failures, messages waiting for a retry and late ones; none when all goes well.
func Troubles(o muster.Observation) []string { return troubles(o, false) }

// troubles does the work of [Troubles]. It leaves out failed attempts if told is true.
func troubles(o muster.Observation, told bool) (parts []string) {
	p := o.Progress.Value()
	if p.Retrying.Value > 0 {
		text := render.Number(p.Retrying.Value) + " waiting for retry"
		if p.OldestRetry.Value > 0 {
			text += ", the oldest sent " + render.Seconds(math.Round(p.OldestRetry.Value)) + " ago"
		}
		parts = append(parts, text)
	}
	if p.Late.Value > 0 {
		parts = append(parts, render.Number(math.Round(p.Late.Value))+" late")
	}
	// These messages may hang: nothing else would show that while their worker lives.
	if p.Held > 0 {
		parts = append(parts, heldLate(p))
	}
	if failed := math.Round(p.Failed); failed > 0 && !told {
		attempts := render.Plural(int(failed), "attempt")
		parts = append(parts, fmt.Sprintf("%s failed in the last %d minutes%s", attempts,
			int(muster.FailedOver.Minutes()), each(p.Failing)))
	}
	if p.DeadLetters.Value > 0 {
		parts = append(parts, render.Plural(int(p.DeadLetters.Value), "dead letter"))
	}
	// The share of the last hour matters only when it misses the objective.
	if p.InTime.Known && p.InTime.Value < o.Objective.Quantile {
		parts = append(parts, fmt.Sprintf("%s of %s in time in the last hour", shareInTime(p.InTime),
			render.Number(p.Ended)))
	}
	return parts
}

// heldLate names the worker with a message in progress for longer than the objective: its work may hang.
func heldLate(p muster.Progress) string {
	verb := "has"
	if p.Held > 1 {
		verb = "have"
	}
	return fmt.Sprintf("%s in progress %s taken longer than the objective, %s so far at %s",
		render.Plural(p.Held, "message"), verb, render.Seconds(math.Round(p.HeldLongest)), p.HeldBy)
}

// each says how long a failed attempt takes on average.
func each(e muster.Estimate) string {
	if !e.Known {
		return ""
	}
	return fmt.Sprintf(" (%s each)", render.Seconds(e.MeanSeconds))
}
