package doctor

import (
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/status"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/server"
)

// Running says what a running Muster finds wrong with itself, and with the work of its fleets.
func Running(s server.Status) []Finding {
	const check = "muster up"
	var e findings
	for _, fault := range s.Faults {
		e.add("", check, Wrong, "%s", oneLine(fault))
	}
	sized := 0
	for _, f := range s.Fleets {
		switch {
		case f.Trouble != "":
			e.add(f.Name, check, Wrong, "%s", oneLine(f.Trouble))
		case !f.Sized():
			e.add(f.Name, check, Note, "%s", status.Lifeline(f))
		case !f.Ready:
			e.add(f.Name, check, Note, "its queues and members were not all seen yet")
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

// work finds what is wrong with the work of a fleet: an ok for all its parts would hide that nothing gets done. It is a
// problem while at least half of the attempts fail, or a worker has had a message for longer than the objective and
// fewer are in time than shall be.
func (e *findings) work(fleet string, o muster.Observation, troubles []string) {
	p := o.Progress.Value()
	if p.LastError != "" && p.Failed > 0 {
		troubles = append(troubles, "last error: "+oneLine(p.LastError))
	}
	text := strings.Join(troubles, ", ")
	enough := p.InTime.Known && p.InTime.Value >= o.Objective.Quantile
	switch {
	case p.Held > 0 && !enough, p.Failed > 0 && p.Failed >= p.Finished:
		e.add(fleet, "work", Wrong, "%s; muster status and muster logs %s say more", text, fleet)
	case text != "":
		e.add(fleet, "work", Note, "%s", text)
	}
}

// NotRunning says that no Muster runs with the configuration, or that it could not be asked.
func NotRunning(err error) []Finding {
	var e findings
	if err == nil {
		e.add("", "muster up", Note, "it does not run here, so nothing is known of its fleets")
	} else {
		e.add("", "muster up", Unchecked, "%v", err)
	}
	return e.all
}
