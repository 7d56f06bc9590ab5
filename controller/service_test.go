package controller_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// service is a fleet with a service of its own that names its members: what it aims at, and who is there.
type service struct {
	t        *testing.T
	settings controller.Settings
	state    controller.State
	now      time.Time
	records  []muster.Record
	aim      int
	members  []muster.Member
	backlog  float64
	unknown  bool
	listedAt time.Time // now when zero
	results  []controller.Input
	// exact services say what they were set to: shows in place of aim where it is not nil, and least is their minimum.
	exact bool
	shows *int
	least int
}

func newService(t *testing.T, s controller.Settings) *service {
	t.Helper()
	s.Fleet, s.Queues = "web", []string{"work"}
	s.Spec = policy.Spec{Name: "backlog-per-worker", Acceptable: 1}
	s.Limits = muster.Limits{Max: 10, LaunchesPerHour: 1000}
	s.Objective = muster.Objective{Latency: time.Minute, Quantile: 0.99}
	settings, err := controller.NewSettings(s)
	if err != nil {
		t.Fatal(err)
	}
	st, err := settings.Restore(muster.Position{Epoch: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &service{t: t, settings: settings, state: st, now: published0}
}

// step lets a second pass and returns what the step did.
func (s *service) step(reports ...protocol.Report) controller.Outcome {
	s.t.Helper()
	s.now = s.now.Add(time.Second)
	backlog := muster.Measured(s.now, s.backlog)
	if s.unknown {
		backlog = muster.Doubt(s.now, "not believed")
	}
	listedAt := s.now
	if !s.listedAt.IsZero() {
		listedAt = s.listedAt
	}
	own := &muster.Service{Desired: s.aim, Notes: []string{"a note"}}
	if s.shows != nil {
		own.Desired = *s.shows
	}
	if s.exact {
		set := own.Desired
		own.Set, own.Least = &set, s.least
	}
	in := append(s.results,
		controller.Measured{QueueObservation: muster.QueueObservation{Queue: "work", Backlog: backlog,
			InFlight: muster.Measured(s.now, 0)}},
		controller.Listed{Listing: muster.Listing{At: listedAt, Members: slices.Clone(s.members), Service: own}})
	s.results = nil
	for _, r := range reports {
		r.At = s.now
		in = append(in, controller.Reported{Report: r})
	}
	o := s.settings.Step(s.state, s.now, in)
	s.state = o.Next
	s.records = append(s.records, o.Records...)
	for _, e := range o.Effects {
		s.results = append(s.results, controller.Resulted{At: s.now.Add(100 * time.Millisecond), Effect: e.EffectID()})
	}
	return o
}

// order returns the only order among the effects; none is nil.
func order(t *testing.T, o controller.Outcome) *muster.Order {
	t.Helper()
	var found *muster.Order
	for _, e := range o.Effects {
		if d, ok := e.(controller.SetDesired); ok {
			if found != nil {
				t.Fatalf("two orders in one step: %+v", o.Effects)
			}
			found = &d.Order
		}
	}
	return found
}

func (s *service) lists(n int) {
	s.members = nil
	for i := range n {
		s.members = append(s.members, muster.Member{ID: fmt.Sprintf("i-%d", i), LaunchedAt: published0, Serving: true})
	}
}

func receiving(id string) protocol.Report {
	return protocol.Report{Fleet: "web", Member: id, Worker: id, Seq: 1, Slots: 1, State: protocol.Receiving}
}

func TestAServiceIsToldTheWholeNumberOfMembers(t *testing.T) {
	s := newService(t, controller.Settings{})
	s.step()
	s.backlog = 3
	o := order(t, s.step())
	if o == nil || o.Desired != 3 || o.Total != 3 || len(o.Launch) != 3 || o.Shrink {
		t.Fatalf("the order is %+v, want 3 members in all", o)
	}
	s.aim = 3
	s.lists(3)
	out := s.step()
	if c := out.Observation.Capacity; c.Booting != 3 || c.Ordered != 0 {
		t.Errorf("the capacity is %+v, want the three that were ordered under the names of the service", c)
	}
	if !slices.Equal(out.Observation.Notes, []string{"a note"}) {
		t.Errorf("the notes are %q", out.Observation.Notes)
	}
	named := 0
	for _, c := range out.Changes {
		if c.What == roster.Named && c.As != "" {
			named++
		}
	}
	if named != 3 {
		t.Errorf("found the changes %+v, want three members named", out.Changes)
	}
	// A restart knows them by their names.
	again, err := s.settings.Restore(muster.Position{Epoch: 2}, s.records)
	if err != nil {
		t.Fatal(err)
	}
	s.state = again
	out = s.step()
	if c := out.Observation.Capacity; c.Booting != 3 || c.Live() != 3 {
		t.Errorf("after a restart the capacity is %+v, want the same three", c)
	}
	for _, m := range out.Members(s.now) {
		if ordered := published0.Add(2 * time.Second); !m.LaunchedAt.Equal(ordered) {
			t.Errorf("after a restart %s was launched at %v, want the instant of its order, %v", m.ID, m.LaunchedAt,
				ordered)
		}
	}
}

func TestASizeThatSomebodyElseHasSetIsStatedAgainOnceAMinute(t *testing.T) {
	s := newService(t, controller.Settings{})
	s.backlog, s.aim = 2, 2
	s.lists(2)
	s.step(receiving("i-0"), receiving("i-1"))
	s.aim = 7 // somebody wants seven; none has come yet
	stated := 0
	for range 150 {
		s.step1(func(o *muster.Order) {
			stated++
			if o.Total != 2 || len(o.Launch) != 0 {
				t.Errorf("the order is %+v, want the two members that there are and no launch", o)
			}
		})
	}
	if stated < 2 || stated > 3 {
		t.Errorf("it was stated %d times in two and a half minutes, want once a minute", stated)
	}
}

// step1 steps with workers that go on reporting, and shows an order, if any.
func (s *service) step1(see func(*muster.Order)) {
	s.t.Helper()
	var reports []protocol.Report
	for _, m := range s.members {
		r := receiving(m.ID)
		r.Seq = s.now.Unix()
		reports = append(reports, r)
	}
	if o := order(s.t, s.step(reports...)); o != nil {
		see(o)
	}
}

func TestAListingFromBeforeTheLastWriteStatesNothing(t *testing.T) {
	s := newService(t, controller.Settings{Stale: 90 * time.Second})
	s.step()
	s.backlog = 3
	if o := order(t, s.step()); o == nil {
		t.Fatal("nothing was ordered")
	}
	s.listedAt = s.now // looks are rare: this one shows the service as it was before the order
	for range 50 {
		if o := order(t, s.step()); o != nil {
			t.Fatalf("the order is %+v because of what was listed before the one of three", o)
		}
	}
	s.listedAt = time.Time{}
	if o := order(t, s.step()); o == nil || o.Total != 3 || len(o.Launch) != 0 {
		t.Errorf("the order is %+v, want that the three are still wanted, once a listing of now says that the "+
			"service forgot them", o)
	}
}

func TestDrainingMembersCountInWhatAServiceIsTold(t *testing.T) {
	s := newService(t, controller.Settings{})
	s.backlog, s.aim = 4, 4
	s.lists(4)
	for range 30 {
		s.step1(func(*muster.Order) {})
	}
	s.backlog = 1 // three are asked to drain, and none has given its token yet
	for range 5 {
		s.step1(func(o *muster.Order) {
			t.Errorf("the order is %+v, want none: a lower size would end members that hold messages", o)
		})
	}
}

func TestExposedMembersAreProtected(t *testing.T) {
	for _, protect := range []bool{true, false} {
		s := newService(t, controller.Settings{Protect: protect})
		s.backlog, s.aim = 2, 2
		s.lists(2)
		s.members[1].Exposed = true
		var asked [][]string
		for range 40 {
			for _, e := range s.step().Effects {
				if p, ok := e.(controller.Protect); ok {
					asked = append(asked, p.Members)
				}
			}
		}
		if !protect && len(asked) > 0 || protect &&
			(len(asked) < 2 || len(asked) > 4 || !slices.Equal(asked[0], []string{"i-1"})) {
			t.Errorf("with protect %t asked for %v in 40 s, want i-1 every 15 s, or nothing", protect, asked)
		}
	}
}

func TestMembersThatDoNotReportWorkWhileTheirServiceSaysSo(t *testing.T) {
	s := newService(t, controller.Settings{Unreported: true})
	s.step()
	s.backlog = 3
	s.step()
	s.aim = 3
	s.lists(3)
	s.now = s.now.Add(20 * time.Second)
	out := s.step()
	if c := out.Observation.Capacity; c.InService() != 3 || c.Slots != 3 {
		t.Fatalf("the capacity is %+v, want three in service", c)
	}
	for range 100 {
		out = s.step()
	}
	if c := out.Observation.Capacity; c.InService() != 3 || c.Lost != 0 || out.Observation.Boot.Prior {
		t.Errorf("the capacity is %+v with boots of %+v, want three in service and a boot that was measured", c,
			out.Observation.Boot)
	}
	s.unknown = true
	s.backlog = 0
	if o := order(t, s.step()); o != nil {
		t.Errorf("the order is %+v while the backlog is not known", o)
	}
	s.unknown, s.backlog = false, 1
	var orders []*muster.Order
	for range 10 {
		if o := order(t, s.step()); o != nil {
			orders = append(orders, o)
			s.aim = o.Total
		}
	}
	if len(orders) != 1 || orders[0].Total != 1 || !orders[0].Shrink {
		t.Errorf("the orders are %+v, want one that lets the service get down to 1", orders)
	}
}
