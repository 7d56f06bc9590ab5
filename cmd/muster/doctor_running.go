package main

import (
	"context"
	"errors"
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/server"
)

// running asks the muster up that runs with the configuration, if one does, what is wrong with it.
func running(ctx context.Context, g *global, c *config.Config) []finding {
	var e exam
	var s server.Status
	switch err := g.get(ctx, c, "/v1/status", &s); {
	case errors.Is(err, errNotRunning):
		e.find("", "muster up", levelNote, "it does not run here, so nothing is known of its fleets")
		return e.all
	case err != nil:
		e.find("", "muster up", levelUnchecked, "%v", err)
		return e.all
	}
	for _, fault := range s.Faults {
		e.find("", "muster up", levelWrong, "%s", oneLine(fault))
	}
	sized := 0
	for _, f := range s.Fleets {
		switch {
		case f.Trouble != "":
			e.find(f.Name, "muster up", levelWrong, "%s", oneLine(f.Trouble))
		case !f.Sized():
			e.find(f.Name, "muster up", levelNote, "%s", lifeline(f.Phase))
		case !f.Ready:
			e.find(f.Name, "muster up", levelNote, "its queues and members were not all seen yet")
		default:
			sized++
		}
	}
	level := levelOK
	if sized < len(s.Fleets) {
		level = levelNote
	}
	e.find("", "muster up", level, "it runs, and sizes %d of %s", sized, muster.Plural(len(s.Fleets), "fleet"))
	return e.all
}

// oneLine joins the lines of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
