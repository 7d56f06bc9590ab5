package roster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// story is a roster to which anything happens in any order, and what the reports that it took said last.
type story struct {
	roster roster.Roster
	now    time.Time
	rules  roster.Rules
	sent   []protocol.Report
	// heard holds the last report that was taken of each worker of each member; over, the members that ended and when.
	heard map[string]map[string]protocol.Report
	over  map[string]time.Time
}

var (
	memberNames = []string{"a", "b", "c", "d"}
	workerNames = []string{"one", "two"}
)

func (s *story) report(t *rapid.T) {
	r := protocol.Report{
		Fleet: "f", Member: rapid.SampledFrom(memberNames).Draw(t, "member"),
		Worker: rapid.SampledFrom(workerNames).Draw(t, "worker"),
		Epoch:  rapid.Int64Range(-1, 3).Draw(t, "epoch"), Seq: rapid.Int64Range(0, 40).Draw(t, "seq"), At: s.now,
		State: rapid.SampledFrom([]protocol.WorkerState{protocol.Starting, protocol.Receiving, protocol.Receiving,
			protocol.Draining, protocol.Idle, protocol.Leaving, "nonsense"}).Draw(t, "state"),
		Cause: rapid.SampledFrom([]protocol.Cause{"", protocol.Asked, protocol.IdleTooLong, protocol.EndOfBilling,
			protocol.Signalled}).Draw(t, "cause"),
		Slots: rapid.IntRange(1, 3).Draw(t, "slots"), Busy: rapid.IntRange(-1, 4).Draw(t, "busy"),
		Finished: rapid.Int64Range(0, 1).Draw(t, "finished"),
	}
	if r.State == protocol.Idle && rapid.IntRange(0, 9).Draw(t, "honest") > 0 {
		r.Busy = 0
	}
	if r.State == protocol.Idle || rapid.IntRange(0, 9).Draw(t, "forged") == 0 {
		r.Token = fmt.Sprint("token ", r.Member, r.Worker, r.Epoch)
	}
	if rapid.IntRange(0, 9).Draw(t, "answered") > 0 {
		r.Challenge = s.roster.Directive(r.Member, r.Worker).Challenge
	}
	s.sent = append(s.sent, r)
	s.take(t, r)
}

// repeat delivers a report a second time, late.
func (s *story) repeat(t *rapid.T) {
	if len(s.sent) > 0 {
		r := rapid.SampledFrom(s.sent).Draw(t, "repeated")
		r.At = s.now
		s.take(t, r)
	}
}

func (s *story) take(t *rapid.T, r protocol.Report) {
	before, known := s.heard[r.Member][r.Worker]
	taken, _ := s.roster.Reported(r)
	ended, isOver := s.over[r.Member]
	remembered := isOver && s.now.Sub(ended) <= s.rules.Remember
	switch {
	case taken && roster.Check(r) != nil:
		t.Fatalf("a report was taken that cannot be true: %+v", r)
	case taken && remembered:
		t.Fatalf("a late report brought back %s, which ended: %+v", r.Member, r)
	case taken && known && (r.Seq <= before.Seq || r.Epoch < before.Epoch):
		t.Fatalf("the late report %+v was taken after %+v", r, before)
	case !taken:
		return
	}
	delete(s.over, r.Member)
	if s.heard[r.Member] == nil {
		s.heard[r.Member] = map[string]protocol.Report{}
	}
	s.heard[r.Member][r.Worker] = r
}

func (s *story) list(t *rapid.T) {
	l := muster.Listing{At: s.now}
	for _, id := range memberNames {
		switch rapid.IntRange(0, 5).Draw(t, "listed "+id) {
		case 0, 1, 2, 3:
			l.Members = append(l.Members, muster.Member{ID: id, LaunchedAt: s.now})
		case 4:
			l.Members = append(l.Members,
				muster.Member{ID: id, Ended: true, Failure: rapid.SampledFrom([]string{"", "exit status 1"}).Draw(t,
					"failure")})
		}
	}
	s.ended(s.roster.Listed(l))
}

func (s *story) ended(gone []roster.Gone) {
	for _, g := range gone {
		if !g.Exists {
			s.over[g.Member] = s.now
			delete(s.heard, g.Member)
		}
	}
}

func (s *story) release(t *rapid.T) {
	asked, offered := s.roster.Offers(s.now, s.rules)
	for _, id := range slices.Concat(asked, offered) {
		if len(s.heard[id]) == 0 {
			t.Fatalf("%s is offered and never reported", id)
		}
		for _, r := range s.heard[id] {
			if r.State != protocol.Idle || r.Token == "" || r.Busy != 0 || s.now.Sub(r.At) > s.rules.Silence ||
				r.Challenge != s.roster.Directive(r.Member, r.Worker).Challenge {
				t.Fatalf("%s is offered although a worker of it said last: %+v", id, r)
			}
		}
		switch rapid.IntRange(0, 2).Draw(t, "grant "+id) {
		case 0:
			s.roster.Release(id, s.now)
		case 1:
			s.roster.Refuse(id)
		}
	}
}

// check holds the roster to what is true of it at every instant.
func (s *story) check(t *rapid.T) {
	c := s.roster.Capacity(s.now, s.rules, 2)
	members := s.roster.Members()
	if c.Live() != len(members) {
		t.Fatalf("the states add up to %d, there are %d members: %+v", c.Live(), len(members), c)
	}
	if c.BusySlots > c.Slots || c.BusySlots < c.Busy || c.SlotsPerWorker < 1 || c.Slots < c.InService() {
		t.Fatalf("the slots cannot be: %+v", c)
	}
	states := map[roster.State]int{roster.Ordered: 0}
	for i, m := range members {
		states[m.State(s.now, s.rules)]++
		if i > 0 && members[i-1].ID == m.ID ||
			slices.IndexFunc(members, func(o roster.Member) bool { return o.ID == m.ID }) != i {
			t.Fatalf("%s is there twice", m.ID)
		}
		for _, w := range m.Workers {
			s.obeyed(t, m, w)
		}
	}
	want := map[roster.State]int{roster.Ordered: c.Ordered, roster.Booting: c.Booting, roster.Idle: c.Idle,
		roster.Busy:     c.Busy,
		roster.Draining: c.Draining, roster.Released: c.Released, roster.Lost: c.Lost}
	for state, n := range want {
		if states[state] != n {
			t.Fatalf("%d members are %s, capacity says %d", states[state], state, n)
		}
	}
	l := s.roster.Launches()
	if (l.Failed == 0) != l.RetryAt.IsZero() || l.RetryAt.After(s.now.Add(5*time.Minute)) {
		t.Fatalf("the back-off cannot be: %+v at %v", l, s.now)
	}
}

// obeyed holds what the worker is told to what is true of its member.
func (s *story) obeyed(t *rapid.T, m roster.Member, w roster.Worker) {
	d := s.roster.Directive(m.ID, w.ID)
	if d.Ask == protocol.Leave && (m.ReleasedAt.IsZero() || d.Token == "" || d.Token != w.Token) {
		t.Fatalf("%s is told to leave: %+v, %+v", m.ID, d, m)
	}
	if d.Ask == protocol.Work && d.Token != "" && (d.Token != w.Token || !w.Refused) {
		t.Fatalf("%s is told that a token is refused: %+v, %+v", m.ID, d, m)
	}
	if d.Ask == protocol.Drain && d.Token != "" || !m.ReleasedAt.IsZero() && d.Ask == protocol.Work {
		t.Fatalf("%s is told %+v: %+v", m.ID, d, m)
	}
}

func TestWhateverHappensTheRosterStaysTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &story{now: t0, rules: rules, heard: map[string]map[string]protocol.Report{}, over: map[string]time.Time{}}
		t.Repeat(map[string]func(*rapid.T){
			"order": func(t *rapid.T) {
				s.roster.Launched(s.now, []string{rapid.SampledFrom(memberNames).Draw(t, "member")})
			},
			"order failed": func(t *rapid.T) {
				s.roster.NotLaunched(s.now, []string{rapid.SampledFrom(memberNames).Draw(t, "member")}, "no capacity")
			},
			"listing":  s.list,
			"report":   s.report,
			"report 2": s.report,
			"report 3": s.report,
			"repeat":   s.repeat,
			"offers":   s.release,
			"drain": func(t *rapid.T) {
				n := rapid.IntRange(0, 3).Draw(t, "n")
				if ids := s.roster.Drain(n, s.now, s.rules); len(ids) > n {
					t.Fatalf("asked %v to drain, at most %d were to", ids, n)
				}
			},
			"dismiss": func(t *rapid.T) {
				id := rapid.SampledFrom(memberNames).Draw(t, "member")
				refused, there := s.roster.Dismiss(id, s.now, s.rules)
				asked := slices.ContainsFunc(s.roster.Members(), func(m roster.Member) bool {
					return m.ID == id && m.Dismissed && m.State(s.now, s.rules) == roster.Draining
				})
				if there && refused == "" && !asked {
					t.Fatalf("%s was asked to go, and does not drain", id)
				}
			},
			"keep": func(t *rapid.T) { s.roster.Keep(rapid.IntRange(0, 3).Draw(t, "n"), s.now, s.rules) },
			"tidy": func(*rapid.T) { s.ended(s.roster.Tidy(s.now, s.rules)) },
			"time passes": func(t *rapid.T) {
				s.now = s.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 5, 11, 40, 400}).Draw(t,
					"seconds")) * time.Second)
			},
			"": s.check,
		})
	})
}

// known tells everything that is known of r's members.
func known(r roster.Roster) string {
	text := fmt.Sprintf("%+v\n", r.Launches())
	for _, m := range r.Members() {
		text += fmt.Sprintf("%+v %+v\n", *m.Facts, m.Incidents())
		for _, w := range m.Workers {
			terms := *w.Terms
			w.Terms = nil
			text += fmt.Sprintf("  %+v %+v\n", terms, w)
		}
	}
	return text
}

func TestACloneIsEqualAndSeparate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &story{now: t0, rules: rules, heard: map[string]map[string]protocol.Report{}, over: map[string]time.Time{}}
		some := func() []string { return []string{rapid.SampledFrom(memberNames).Draw(t, "member")} }
		var kept []roster.Roster // each was cloned, and must stay as it was
		var were []string
		t.Repeat(map[string]func(*rapid.T){
			"order":        func(*rapid.T) { s.roster.Launched(s.now, some()) },
			"order failed": func(*rapid.T) { s.roster.NotLaunched(s.now, some(), "no capacity") },
			"listing":      s.list,
			"report":       s.report,
			"report 2":     s.report,
			"incident": func(t *rapid.T) {
				r := protocol.Report{Member: some()[0], Worker: "one", Seq: rapid.Int64Range(40, 99).Draw(t, "seq"),
					Epoch: 3, At: s.now, State: protocol.Receiving, Slots: 1,
					Incidents: []protocol.Incident{{Kind: "restarted", Count: rapid.Int64Range(1, 3).Draw(t, "n")}}}
				s.roster.Reported(r)
			},
			"offers":     s.release,
			"drain":      func(*rapid.T) { s.roster.Drain(2, s.now, s.rules) },
			"dismiss":    func(*rapid.T) { s.roster.Dismiss(some()[0], s.now, s.rules) },
			"exchange":   func(*rapid.T) { s.roster.Exchange(s.now, s.rules) },
			"keep":       func(*rapid.T) { s.roster.Keep(2, s.now, s.rules) },
			"keep all":   func(*rapid.T) { s.roster.KeepAll() },
			"serve":      func(*rapid.T) { s.roster.Serve(s.now) },
			"name":       func(*rapid.T) { s.roster.NameOne(some()[0]) },
			"recall":     func(*rapid.T) { s.roster.Recall(s.now, some()[0], roster.AskedToDrain, false, "") },
			"recall end": func(*rapid.T) { s.roster.Recall(s.now, some()[0], roster.HasEnded, true, "failed") },
			"recall launch": func(*rapid.T) {
				ids := some()
				s.roster.RecallLaunch(s.now, ids)
				s.roster.Expect(s.now, ids)
			},
			"recall incident": func(*rapid.T) {
				s.roster.RecallIncident(some()[0],
					roster.Incident{Worker: "one", Incident: protocol.Incident{Kind: "restarted", Count: 9}, At: s.now})
			},
			"stored": func(t *rapid.T) {
				r := protocol.Report{Member: some()[0], Worker: "one", Seq: rapid.Int64Range(1, 99).Draw(t, "seq"),
					Epoch: 3, At: s.now, Slots: 1,
					State: rapid.SampledFrom([]protocol.WorkerState{protocol.Receiving, protocol.Leaving}).Draw(t,
						"state"), Cause: protocol.IdleTooLong}
				s.roster.Stored(r)
			},
			"from the pool": func(*rapid.T) { s.roster.FromPool(some()) },
			"tiers": func(*rapid.T) {
				s.roster.Tiers(muster.Listing{At: s.now, Members: []muster.Member{{ID: some()[0], Tier: muster.Warm}}})
			},
			"tidy": func(*rapid.T) { s.ended(s.roster.Tidy(s.now, s.rules)) },
			"time passes": func(t *rapid.T) {
				s.now = s.now.Add(time.Duration(rapid.SampledFrom([]int{1, 11, 40, 400}).Draw(t,
					"seconds")) * time.Second)
			},
			"clone": func(t *rapid.T) {
				kept, were = append(kept, s.roster), append(were, known(s.roster))
				s.roster = s.roster.Clone()
				if got := known(s.roster); got != were[len(were)-1] {
					t.Fatalf("the clone is %s\nof %s", got, were[len(were)-1])
				}
			},
			"": func(t *rapid.T) {
				for i := range kept {
					if got := known(kept[i]); got != were[i] {
						t.Fatalf("found %s\nwant %s", got, were[i])
					}
				}
			},
		})
	})
}
