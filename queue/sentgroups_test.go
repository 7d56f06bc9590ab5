package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// A message that its receiver returned is counted apart from those in progress until it is visible, wherever it came
// from and whatever happens to it then.
func TestAReturnedMessageIsCountedUntilItIsVisible(t *testing.T) {
	change := func(timeout time.Duration, returned bool) func(*testing.T, *Service, Message) {
		return func(t *testing.T, s *Service, m Message) {
			t.Helper()
			err := s.ChangeVisibility(t.Context(), "jobs",
				[]VisibilityChange{{Receipt: m.Receipt, Timeout: timeout, Returned: returned}})[0]
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	wait := func(d time.Duration) func(*testing.T, *Service, Message) {
		return func(*testing.T, *Service, Message) { time.Sleep(d) }
	}
	for _, row := range []struct {
		name                        string
		do                          []func(*testing.T, *Service, Message)
		visible, inFlight, returned int
	}{
		{"it is held", nil, 0, 1, 0},
		{"it is held on", []func(*testing.T, *Service, Message){change(time.Minute, false)}, 0, 1, 0},
		{"it is given back", []func(*testing.T, *Service, Message){change(time.Minute, true)}, 0, 1, 1},
		{"it is given back at once", []func(*testing.T, *Service, Message){change(0, true)}, 1, 0, 0},
		{"it is given back twice", []func(*testing.T, *Service, Message){change(time.Minute, true),
			change(time.Hour, true)}, 0, 1, 1},
		{"it is given back and then held again", []func(*testing.T, *Service, Message){change(time.Minute, true),
			change(time.Minute, false)}, 0, 1, 0},
		{"its wait is over", []func(*testing.T, *Service, Message){change(time.Minute, true), wait(61 * time.Second)},
			1, 0, 0},
		{"it is received again", []func(*testing.T, *Service, Message){
			change(time.Minute, true), wait(61 * time.Second),
			func(t *testing.T, s *Service, _ Message) { takeOne(t, s, "jobs") },
		}, 0, 1, 0},
		{"it is deleted while it waits", []func(*testing.T, *Service, Message){change(time.Minute, true),
			func(t *testing.T, s *Service, m Message) {
				if err := s.Delete(t.Context(), "jobs", []string{m.Receipt})[0]; err != nil {
					t.Fatal(err)
				}
			}}, 0, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := ephemeral(t)
				mustCreate(t, s, "jobs", nil)
				mustSend(t, s, "jobs", "a")
				sent := time.Now()
				time.Sleep(10 * time.Second)
				m := takeOne(t, s, "jobs")
				for _, do := range row.do {
					do(t, s, m)
				}
				c, err := s.Counts("jobs")
				if err != nil || c.Visible != row.visible || c.InFlight != row.inFlight || c.Returned != row.returned ||
					c.Unsure != 0 {
					t.Fatalf("found %+v, %v; want %d visible, %d in flight, %d of them given back", c, err, row.visible,
						row.inFlight, row.returned)
				}
				if len(c.ReturnedSent) != row.returned {
					t.Errorf("found the groups %v of %d messages", c.ReturnedSent, row.returned)
				}
				for _, g := range c.ReturnedSent {
					if off := g.Oldest.Sub(sent).Abs(); g.Messages != 1 || off > time.Second {
						t.Errorf("found %d messages sent at %s, want 1 at %s: however often it was received",
							g.Messages, g.Oldest, sent)
					}
				}
			})
		})
	}
}

// Whether a message waits for its retry is not stored: after a restart that is unknown, and not "no", until it shows.
func TestAfterARestartItIsUnknownWhoHasAMessageInFlight(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	mustCreate(t, s, "jobs", map[string]string{"VisibilityTimeout": "600"})
	mustSend(t, s, "jobs", "a", "b")
	held := take(t, s, "jobs")
	if len(held) != 2 {
		t.Fatalf("received %d messages, want 2", len(held))
	}
	give := func(s *Service, m Message, returned bool) {
		t.Helper()
		if err := s.ChangeVisibility(t.Context(), "jobs",
			[]VisibilityChange{{Receipt: m.Receipt, Timeout: time.Minute, Returned: returned}})[0]; err != nil {
			t.Fatal(err)
		}
	}
	give(s, held[0], true)
	give(s, held[1], false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir})
	counts := func(returned, unsure int) {
		t.Helper()
		if c, err := s.Counts("jobs"); err != nil || c.InFlight != 2 || c.Returned != returned || c.Unsure != unsure {
			t.Fatalf("found %+v, %v; want 2 in flight, %d given back, of %d not known", c, err, returned, unsure)
		}
	}
	counts(0, 2)
	give(s, held[1], false)
	counts(0, 1)
	give(s, held[0], true)
	counts(1, 0)
}

func TestSentGroupsAreFewAndHoldEveryMessage(t *testing.T) {
	var nodes []machine.Node
	for i := range int64(1000) {
		nodes = append(nodes, machine.Node{Key: 5000 + i*i, Ref: 1})
	}
	groups, n := sentGroups(nodes), 0
	for i, g := range groups {
		n += g.Messages
		if i > 0 && !groups[i-1].Oldest.Before(g.Oldest) {
			t.Errorf("group %d is not younger than the one before", i)
		}
	}
	if len(groups) > MaxSentGroups || n != len(nodes) || groups[0].Oldest.UnixMilli() != 5000 {
		t.Errorf("found %d groups of %d messages, the first from %s", len(groups), n, groups[0].Oldest)
	}
}
