package ecs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/fleet/ecs"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
)

// step is something that happens to a service: orders, releases, tasks that end by themselves, and calls that fail.
type step struct {
	what string
	n    int
	wait time.Duration
}

func drawSteps(t *rapid.T) (all []step) {
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		all = append(all, step{
			rapid.SampledFrom([]string{"raise", "release", "again", "ends", "deny", "throttle", "lost", "wait"}).Draw(t,
				"what"),
			rapid.IntRange(0, 6).Draw(t, "n"), time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second,
		})
	}
	return all
}

// Whatever happens, ECS ends no task that was not released and did not end by itself, and it settles where it should.
func TestNoTaskEndsThatWasNotReleased(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := drawSteps(rt)
		broken := ""
		inTime(t, model.Settings{}, func(s stage) { broken = s.live(steps) })
		if broken != "" {
			rt.Fatal(broken)
		}
	})
}

// live lets the steps happen, and says what is wrong.
func (s stage) live(steps []step) string {
	f := s.service(3, ecs.ServiceOptions{Protect: true})
	seen := map[string]bool{} // every task that ran
	var released, gone []string
	look := func() string {
		l, err := f.Members(s.t.Context())
		if err != nil {
			return "" // an injected trouble
		}
		for _, m := range l.Members {
			if m.Serving {
				seen[m.ID] = true
			}
			if m.Ended && seen[m.ID] && !slices.Contains(released, m.ID) && !slices.Contains(gone, m.ID) {
				return fmt.Sprintf("%s ended and was not released: %s", m.ID, m.Failure)
			}
		}
		return ""
	}
	for i, x := range steps {
		f.Expect()
		l, _ := f.Members(s.t.Context())
		var working []string
		for _, m := range l.Members {
			if m.Serving && !slices.Contains(released, m.ID) {
				working = append(working, m.ID)
			}
		}
		total := 0
		for _, m := range l.Members {
			if !m.Ended {
				total++
			}
		}
		switch x.what {
		case "raise":
			_ = f.SetDesired(s.t.Context(), muster.Order{ID: fmt.Sprint("o", i), Desired: total + x.n,
				Total: total + x.n, Launch: names(x.n)})
		case "release":
			going := working[:min(x.n, len(working))]
			released = append(released, going...)
			_ = f.End(s.t.Context(), going)
		case "again":
			_ = f.End(s.t.Context(), released)
		case "ends":
			if len(working) > 0 {
				gone = append(gone, working[0])
				s.do(func(w *model.World) error { return w.ECS().ExitTask(working[0]) })
			}
		case "deny":
			s.do(func(w *model.World) error {
				w.Inject(account.Injection{Trouble: account.AccessDenied, Action: "UpdateTaskProtection", Times: x.n +
					1})
				return nil
			})
		case "throttle":
			s.do(func(w *model.World) error {
				w.Inject(account.Injection{Trouble: account.Throttled, Service: account.ECSService, Times: 2 * (x.n +
					1)})
				return nil
			})
		case "lost":
			s.do(func(w *model.World) error {
				w.Inject(account.Injection{Trouble: account.InternalFailure, Action: "UpdateService", Times: x.n + 1})
				return nil
			})
		}
		pass(x.wait)
		if why := look(); why != "" {
			return fmt.Sprintf("after step %d, %+v: %s", i+1, x, why)
		}
	}
	s.do(func(w *model.World) error { w.ClearInjections(); return nil })
	for range 4 {
		pass(2 * time.Minute)
		_ = f.End(s.t.Context(), released)
		f.Expect()
		if why := look(); why != "" {
			return "in the end: " + why
		}
	}
	pass(2 * time.Minute)
	left := s.living(f)
	for _, id := range released {
		if slices.Contains(left, id) {
			return fmt.Sprintf("the released %s still lives", id)
		}
	}
	if n := s.shown().DesiredCount; n != len(left) {
		return fmt.Sprintf("%d live with a count of %d", len(left), n)
	}
	return ""
}
