package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/planning"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
)

// grown is an observation of a fleet that works on trees: workers boot in 20 s and messages take 10 s, all the same.
func grown(s see, e muster.Expected) muster.Observation {
	if s.mpd == 0 {
		s.mpd = 10 * time.Second
	}
	o := s.observation()
	o.Boot = muster.Estimate{Known: true, Count: 10, MeanSeconds: 20, P95Seconds: 20}
	o.Processing.P95Seconds, o.Processing.P99Seconds = o.Processing.MeanSeconds, o.Processing.MeanSeconds
	o.Expected = &e
	return o
}

// level is what a tree is expected to send: so many messages from so many nodes each, level by level.
func levels(open float64, each ...float64) muster.Expected {
	e := muster.Expected{At: t0, Known: true, Trees: 1, Open: open}
	parents := open
	for _, n := range each {
		e.Levels = append(e.Levels, muster.ExpectedLevel{Parents: parents, Messages: parents * n})
		parents *= n
	}
	return e
}

func TestTheNextLevelOfATreeIsPlannedFor(t *testing.T) {
	perhaps := levels(4)
	perhaps.Perhaps = 6
	unread := muster.Expected{At: t0, Reason: "the disk is gone"}
	exact, deadline := planning.Exact{}, planning.Deadline{}
	for _, row := range []struct {
		name     string
		policy   muster.Policy
		see      see
		expected muster.Expected
		want     int
		floor    int
		says     string
	}{
		{"exact: four nodes of 15 s in work, each with three children that come before a worker could: eight more",
			exact,
			see{inFlight: 4, busy: 4, mpd: 15 * time.Second}, levels(4, 3), 12, 12,
			"8 launches to be in service for it"},
		{"exact: the children will be done before a worker could be there", exact,
			see{inFlight: 4, busy: 4, mpd: 5 * time.Second}, levels(4, 3), 4, 4, "about 12 more"},
		{"exact: their children in turn are there when a worker is", exact,
			see{inFlight: 2, busy: 2, idle: 2}, levels(2, 2, 3), 12, 12, "8 launches"},
		{"exact: idle workers stay for children that come sooner than a worker could", exact,
			see{inFlight: 2, busy: 2, idle: 8}, levels(2, 4), 10, 8, "about 8 more"},
		{"exact: idle workers stay until it is known whether a level has children", exact,
			see{inFlight: 4, busy: 4, idle: 4}, perhaps, 8, 6, "not known yet"},
		{"exact: leaves free their workers", exact, see{inFlight: 4, busy: 4, idle: 4}, levels(4), 8, 4,
			"and no more are expected"},
		{"exact: trees that cannot be read let nobody go", exact, see{inFlight: 4, busy: 4, idle: 4}, unread, 8, 8,
			"the disk is gone"},
		{"exact: nobody knows how long the work takes, so all stay", exact,
			see{inFlight: 1, busy: 1, idle: 3, mpd: -1}, levels(1, 2), 4, 4,
			"at a time that is unknown until a node is done"},
		{"deadline: children that come before a worker could are late, and begin within a boot once one is ready",
			deadline,
			see{inFlight: 4, busy: 4, latency: 15 * time.Second}, levels(4, 5), 6, 4,
			"2 launches to be in service for it"},
		{"deadline: an objective of minutes leaves time to launch when they are there", deadline,
			see{inFlight: 4, busy: 4, latency: 4 * time.Minute}, levels(4, 5), 4, 4, "about 20 more"},
		{"deadline: idle workers stay for children that come sooner than a worker could", deadline,
			see{inFlight: 4, busy: 4, idle: 6, latency: 15 * time.Second}, levels(4, 2), 8, 8, "about 8 more"},
		{"deadline: leaves let idle workers go", deadline,
			see{inFlight: 4, busy: 4, idle: 6, latency: 30 * time.Second}, levels(4), 4, 4, "and no more are expected"},
		{"deadline: trees that cannot be read let nobody go", deadline,
			see{inFlight: 4, busy: 4, idle: 6, latency: 30 * time.Second}, unread, 10, 10, "the disk is gone"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := grown(row.see, row.expected)
			if row.see.mpd < 0 {
				o.Processing = muster.Estimate{}
			}
			d := row.policy.Decide(o, nil)
			last := d.Trail[len(d.Trail)-1]
			if d.Desired != row.want || d.Floor != row.floor || last.Rule != "trees" ||
				!strings.Contains(last.Why, row.says) {
				t.Errorf("desired %d, floor %d: %s\nwant %d, %d and %q\n%+v", d.Desired, d.Floor, d.Sentence(),
					row.want, row.floor, row.says, last)
			}
		})
	}
}

// outlooks are any that the accounts of trees can give.
func outlooks() *rapid.Generator[muster.Expected] {
	return rapid.Custom(func(t *rapid.T) muster.Expected {
		if rapid.IntRange(0, 4).Draw(t, "unread") == 0 {
			return muster.Expected{At: t0, Reason: "unread"}
		}
		e := muster.Expected{At: t0, Known: true, Trees: 1, Open: float64(rapid.IntRange(1, 500).Draw(t, "open"))}
		for range rapid.IntRange(0, muster.MaxLevels).Draw(t, "levels") {
			e.Levels = append(e.Levels, muster.ExpectedLevel{Parents: rapid.Float64Range(0, 500).Draw(t, "parents"),
				Messages: rapid.Float64Range(0, 1e6).Draw(t, "messages")})
		}
		e.Perhaps = rapid.Float64Range(0, 1e4).Draw(t, "perhaps")
		return e
	})
}

func TestTreesOnlyEverAskForMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := sights().Draw(t, "see").observation()
		o.Boot = muster.Estimate{Known: true, MeanSeconds: rapid.Float64Range(0.1, 100).Draw(t, "boot")}
		p := rapid.SampledFrom([]muster.Policy{planning.Exact{}, planning.Deadline{}, planning.Deadline{Prompt: true},
			planning.Deadline{Seasonal: true}}).Draw(t, "policy")
		without := p.Decide(o, nil)
		expected := outlooks().Draw(t, "expected")
		o.Expected = &expected
		with := p.Decide(o, nil)
		switch {
		case with.Desired < without.Desired || with.Floor < min(without.Floor, with.Desired) ||
			with.Floor > with.Desired:
			t.Fatalf("without trees %d with the floor %d, with them %d, %d: %s", without.Desired, without.Floor,
				with.Desired, with.Floor, with.Sentence())
		case !o.Expected.Known && (with.Desired < with.Previous || with.Floor < min(with.Previous, with.Desired)):
			t.Fatalf("the trees are unread, and %d became %d with the floor %d", with.Previous, with.Desired,
				with.Floor)
		}
	})
}

func TestDecisionsWithTreesRecomputeToTheByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]muster.Policy{planning.Exact{}, planning.Deadline{}}).Draw(t, "policy")
		o := sights().Draw(t, "see").observation()
		expected := outlooks().Draw(t, "expected")
		o.Expected = &expected
		var again muster.Observation
		reread(t, o, &again)
		var a, b muster.Decision
		reread(t, p.Decide(o, nil), &a)
		reread(t, p.Decide(again, nil), &b)
		if a.Sentence() != b.Sentence() || a.Desired != b.Desired || a.Floor != b.Floor {
			t.Fatalf("first  %s\nsecond %s", a.Sentence(), b.Sentence())
		}
	})
}

// TestWorkersOnTheirWayBeginChildrenOnlyOnceTheseAreThere: 40 children come in 10 s and may wait for 11.3 s; four
// workers begin two each, and so do eight that will be ready in a second.
func TestWorkersOnTheirWayBeginChildrenOnlyOnceTheseAreThere(t *testing.T) {
	o := grown(see{inFlight: 4, busy: 4, pending: 8, latency: 22 * time.Second}, levels(4, 10))
	o.Coming = []muster.Coming{{AgeSeconds: 19, Members: 8}}
	if d := (planning.Deadline{}).Decide(o, nil); d.Desired != 28 {
		t.Errorf("desired %d: %s\nwant 12 and one for each of the 16 that would be late", d.Desired, d.Sentence())
	}
}
