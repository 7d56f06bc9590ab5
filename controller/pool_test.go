package controller_test

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// prepared is a world whose fleet has a warm pool.
type prepared struct {
	*world
	ready *int
	tier  map[string]muster.Tier
}

// step is [world.step] with listings that tell of the pool.
func (p *prepared) step(later time.Duration, in ...controller.Input) controller.Outcome {
	p.now = p.now.Add(later)
	look := p.look()
	l := look[1].(controller.Listed)
	if l.Ready = p.ready; l.Ready != nil {
		n := *p.ready
		l.Ready = &n
	}
	for i := range l.Members {
		l.Members[i].Tier = p.tier[l.Members[i].ID]
	}
	look[1] = l
	return p.stepOn(append(look, in...)...)
}

// booted is a fleet that has ordered three while its pool had two, which came after 15 s; the third after 90 s.
func booted(t *testing.T) *prepared {
	two := 2
	p := &prepared{newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10)), &two, map[string]muster.Tier{}}
	p.backlog = 3
	order := p.step(0).Effects[0].(controller.SetDesired)
	if order.Warm != 2 {
		t.Fatalf("of 3 ordered %d are expected from a pool that has 2", order.Warm)
	}
	p.obey()
	for i, m := range p.members {
		p.tier[m.id] = []muster.Tier{muster.Warm, muster.Warm, muster.Cold}[i]
	}
	*p.ready = 0
	p.backlog, p.inFlight = 1, 2
	if o := p.step(time.Second); o.Observation.Pool.Ready != 0 || o.Observation.Coming[0].Warm != 2 {
		t.Fatalf("the pool is %+v, and coming are %+v", o.Observation.Pool, o.Observation.Coming)
	}
	for _, m := range p.members {
		m.state = protocol.Receiving
	}
	p.step(14 * time.Second)
	p.step(0, p.say(p.members[0], 0), p.say(p.members[1], 0))
	p.inFlight, p.backlog = 3, 0
	p.step(75 * time.Second)
	p.step(0, p.everybody()...)
	p.step(6*time.Second, p.everybody()...)
	p.step(time.Minute, p.everybody()...) // a decision is recorded with what was learned
	return p
}

func TestBootsFromAWarmPoolAndOthersAreLearnedApart(t *testing.T) {
	p := booted(t)
	o := p.last.Observation
	if b := o.Boot; b.Count != 1 || b.MeanSeconds != 90 {
		t.Errorf("cold boots: %+v, want one of 90 s", b)
	}
	if b := o.Pool.Boot; b.Count != 2 || b.MeanSeconds != 15 {
		t.Errorf("boots from the pool: %+v, want two of 15 s", b)
	}
}

func TestARestartForgetsNoTier(t *testing.T) {
	p := booted(t)
	before := p.last.Observation
	p.restart()
	after := p.step(time.Second, p.everybody()...).Observation
	if *after.Pool != *before.Pool || after.Boot != before.Boot {
		t.Errorf("after a restart the pool is %+v and cold boots are %+v; before %+v and %+v", after.Pool, after.Boot,
			before.Pool, before.Boot)
	}
	p.ready = nil // it cannot be read for a while
	p.step(time.Hour, p.everybody()...)
	if pool := p.step(time.Minute, p.everybody()...).Observation.Pool; pool == nil || pool.Ready != 0 ||
		pool.Boot != before.Pool.Boot {
		t.Errorf("an hour later the pool is %+v, want what was learned and none that is ready", pool)
	}
}

func TestTheTierOfAnOrderUnderWayIsRememberedOverARestart(t *testing.T) {
	for _, row := range []struct {
		name string
		tier []muster.Tier
		warm int
	}{
		{"as it was expected", []muster.Tier{"", "", ""}, 2},
		{"as it was seen before", []muster.Tier{muster.Cold, muster.Warm, muster.Cold}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			two := 2
			p := &prepared{newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10)), &two, map[string]muster.Tier{}}
			p.backlog = 3
			p.step(0)
			p.obey()
			*p.ready = 0
			for i, m := range p.members {
				p.tier[m.id] = row.tier[i]
			}
			o := p.step(time.Second)
			if told := slices.ContainsFunc(o.Changes,
				func(c controller.Changed) bool { return c.What == roster.CameCold }); told != (row.warm == 1) {
				t.Errorf("changes %+v; that one is of another tier than expected is told: %v", o.Changes, told)
			}
			p.restart()
			clear(p.tier) // the fleet has forgotten what it saw
			if g := p.step(time.Second).Observation.Coming; len(g) != 1 || g[0].Warm != row.warm {
				t.Errorf("after a restart there come %+v, want %d from the pool", g, row.warm)
			}
		})
	}
}

func TestAFleetWithoutAPoolIsRecordedAsBefore(t *testing.T) {
	w := served(t, 2)
	if w.last.Observation.Pool != nil {
		t.Errorf("found the pool %+v", w.last.Observation.Pool)
	}
}
