package doctor

import (
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/status"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/server"
)

// Running checks the status of a running Muster and the work of its fleets. Its last finding counts the sized fleets,
// so that a user sees at once that Muster runs.
func Running(s server.Status) []Finding {
	const check = "muster up"
	var e findings
	for _, fault := range s.Faults {
		e.add("", check, Wrong, "%s", oneLine(fault))
	}
	sized := 0
	for _, f := range s.Fleets {
		switch {
		// The first matching case counts: a fleet with trouble may be unsized as well.
		case f.Trouble != "":
			e.add(f.Name, check, Wrong, "%s", oneLine(f.Trouble))
		case !f.Sized():
			e.add(f.Name, check, Note, "%s", status.Lifeline(f))
		case !f.Ready:
			e.add(f.Name, check, Note, "its queues and members were not all read yet")
		default:
			sized++
			e.work(f.Name, f.Observation, status.Troubles(f.Observation))
		}
	}
	level := OK
	if sized < len(s.Fleets) {
		level = Note
	}
	e.add("", check, level, "it runs, and sizes %d of %s", sized, render.Plural(len(s.Fleets), "fleet"))
	return e.all
}

// work checks the work of a fleet: without it, doctor could print ok while no message gets finished. It is a problem
// when at least half of the attempts fail. It is one, too, when a message has been in progress for longer than the
// objective and fewer messages are in time than the objective asks for.
func (e *findings) work(fleet string, o muster.Observation, troubles []string) {
	p := o.Progress.Value()
	if p.LastError != "" && p.Failed > 0 {
		troubles = append(troubles, "last error: "+oneLine(p.LastError))
	}
	text := strings.Join(troubles, ", ")
	// An unknown share is no excuse: then a message that takes too long is a problem.
	enough := p.InTime.Known && p.InTime.Value >= o.Objective.Quantile
	switch {
	// Half of the attempts failing, or work that hangs while messages are late.
	case p.Held > 0 && !enough, p.Failed > 0 && p.Failed >= p.Finished:
		e.add(fleet, "work", Wrong, "%s; muster status and muster logs %s say more", text, fleet)
	case text != "":
		e.add(fleet, "work", Note, "%s", text)
	}
}

// NotRunning is the finding that no Muster runs with the configuration, or that it did not answer.
func NotRunning(err error) []Finding {
	var e findings
	if err == nil {
		e.add("", "muster up", Note, "it does not run here, so the state of its fleets is unknown")
	} else {
		e.add("", "muster up", Unchecked, "%v", err)
	}
	return e.all
}
