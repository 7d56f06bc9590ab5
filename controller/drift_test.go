package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/worker/protocol"
)

// contested is a fleet of two whose service others set, too.
type contested struct {
	*service
	orders   int
	contests int
	last     controller.Outcome
}

func newContested(t *testing.T) *contested {
	s := newService(t, controller.Settings{Protect: true})
	s.exact = true
	s.backlog, s.aim = 2, 2
	s.lists(2)
	return &contested{service: s}
}

// seconds lets so many seconds pass. The service does what it is ordered to, and others do what they like.
func (c *contested) seconds(n int, others func(second int)) {
	c.t.Helper()
	for i := range n {
		if others != nil {
			others(i)
		}
		var reports []protocol.Report
		for _, m := range c.members {
			r := receiving(m.ID)
			r.Seq = c.now.Unix()
			reports = append(reports, r)
		}
		c.last = c.step(reports...)
		if c.last.Decision.Reason == muster.Contested {
			c.contests++
		}
		if o := order(c.t, c.last); o != nil {
			c.orders++
			c.aim = max(o.Total, o.Desired)
		}
	}
}

func TestASecondControllerIsSeenAndNotFought(t *testing.T) {
	c := newContested(t)
	c.seconds(60, nil)
	// It sets seven every twenty seconds, whatever Muster sets.
	c.seconds(600, func(i int) {
		if i%20 == 0 {
			c.aim = 7
		}
	})
	if d := c.last.Decision; d.Verdict != muster.Hold || d.Reason != muster.Contested ||
		!strings.Contains(d.Sentence(), "something else has set the size 3 times within 30m") {
		t.Fatalf(
			"the decision is %s (%s), want a hold that says that another controller sizes the fleet",
			d.Sentence(),
			d.Reason,
		)
	}
	if c.orders > 3 {
		t.Errorf("the size was set %d times against the other controller, want no more than it takes to see it",
			c.orders)
	}
	// Members that the other one brings are kept, whatever the backlog says.
	c.lists(7)
	c.backlog = 0
	before := c.orders
	c.seconds(120, nil)
	for _, m := range c.members {
		if d := c.state.Directive(m.ID, m.ID); d.Ask != protocol.Work {
			t.Errorf("%s is told to %s while another controller sizes the fleet", m.ID, d.Ask)
		}
	}
	if c.orders != before {
		t.Errorf("the size was set %d times more while the fleet is contested", c.orders-before)
	}
	// A restart does not forget.
	again, err := c.settings.Restore(muster.Position{Epoch: 2}, c.records)
	if err != nil {
		t.Fatal(err)
	}
	c.state = again
	c.seconds(2, nil)
	if d := c.last.Decision; d.Reason != muster.Contested {
		t.Errorf("after a restart: %s", d.Sentence())
	}
	if _, _, err := audit.Verify(c.records); err != nil {
		t.Errorf("verify: %v", err)
	}
	// Once the other one is gone, Muster goes on.
	c.seconds(int(muster.DriftWindow/time.Second), nil)
	if d := c.last.Decision; d.Reason == muster.Contested || c.last.Observation.Drift != nil {
		t.Errorf("half an hour later: %s", d.Sentence())
	}
}

func TestAControllerThatLowersTheSizeIsSeenToo(t *testing.T) {
	c := newContested(t)
	c.backlog = 5
	c.seconds(5, nil)
	c.lists(5)
	c.seconds(60, nil)
	c.seconds(600, func(i int) {
		if i%30 == 0 {
			c.aim = 2
			c.lists(2)
		} else if i%30 == 15 {
			c.lists(c.aim)
		}
	})
	if d := c.last.Decision; d.Reason != muster.Contested {
		t.Errorf("found %s (%s), want that the fleet is contested", d.Sentence(), d.Reason)
	}
}

func TestWhatIsNoSecondController(t *testing.T) {
	for _, row := range []struct {
		name string
		play func(*contested)
	}{
		{"a person who sets the size twice", func(c *contested) {
			c.seconds(300, func(i int) {
				if i == 50 || i == 150 {
					c.aim = 7
				}
			})
		}},
		{"three in two hours", func(c *contested) {
			c.seconds(7200, func(i int) {
				if i%2400 == 50 {
					c.aim = 7
				}
			})
		}},
		{"its own orders, up and down", func(c *contested) {
			c.seconds(1200, func(i int) {
				c.backlog = float64(1 + i/50%6)
				if i%10 == 5 {
					c.lists(max(c.aim, len(c.members)))
				}
			})
		}},
		{"a service that shows its size late", func(c *contested) {
			shown := []int{c.aim, c.aim, c.aim, c.aim, c.aim}
			c.seconds(1200, func(i int) {
				c.backlog = float64(1 + i/60%6)
				shown = append(shown[1:], c.aim)
				c.shows = &shown[0]
				if i%10 == 5 {
					c.lists(max(c.aim, len(c.members)))
				}
			})
		}},
		{"a service with a minimum above what is wanted", func(c *contested) {
			c.least = 3
			c.seconds(1200, func(i int) {
				c.backlog = float64(i / 60 % 3)
				c.aim = max(c.aim, c.least)
				c.lists(3)
			})
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newContested(t)
			c.seconds(60, nil)
			row.play(c)
			if d := c.last.Decision; d.Reason == muster.Contested {
				t.Errorf("found %s", d.Sentence())
			}
			if c.contests > 0 {
				t.Errorf("it held %d times because of another controller", c.contests)
			}
		})
	}
}

// TestOneForeignSizeIsShown holds that a size that something else has set is seen in muster status at once, not only
// when it was set so often that the fleet holds.
func TestOneForeignSizeIsShown(t *testing.T) {
	c := newContested(t)
	c.seconds(60, nil)
	undisturbed := c.last.Observation.Notes
	c.seconds(30, func(i int) {
		if i == 0 {
			c.aim = 7
		}
	})
	before, notes := strings.Join(undisturbed, "\n"), strings.Join(c.last.Observation.Notes, "\n")
	if strings.Contains(before, "something else") ||
		!strings.Contains(notes, "something else has set the size once") || !strings.Contains(notes, "from 2 to 7") {
		t.Errorf("found the notes %q, then %q; want one that says what was set", before, notes)
	}
}

// TestAnAnswerToOurOwnSizeIsSeen holds that a second controller that always writes soon after Muster is seen, too. No
// listing then ever shows the size that Muster has set. The workers do not report, so the service may shrink by itself.
func TestAnAnswerToOurOwnSizeIsSeen(t *testing.T) {
	s := newService(t, controller.Settings{Unreported: true})
	s.exact = true
	s.backlog, s.aim = 2, 2
	s.lists(2)
	c := &contested{service: s}
	c.seconds(60, nil)
	orders, answer := c.orders, 0
	c.aim = 7
	c.seconds(600, func(i int) {
		if c.orders > orders {
			orders, answer = c.orders, i+2
		}
		if answer > 0 && i == answer {
			c.aim = 7
		}
	})
	if c.last.Decision.Reason != muster.Contested || c.orders > 4 {
		t.Errorf("%d orders, and now %s (%s); want a hold after no more orders than it takes to see it", c.orders,
			c.last.Decision.Sentence(), c.last.Decision.Reason)
	}
}
