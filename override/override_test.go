package override_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/override"
)

var t0 = time.Date(2026, 11, 23, 13, 0, 0, 0, time.UTC)

func number(n int) *int { return &n }

// reserved is a reservation from 14:00 to 14:30 that was granted in full.
func reserved(id string, workers int) override.Override {
	return override.Override{ID: id, Kind: override.Reserve, Workers: workers, Begin: t0.Add(time.Hour),
		End: t0.Add(90 * time.Minute), Grant: &override.Grant{Workers: workers, LaunchAt: t0.Add(58 * time.Minute)}}
}

func TestAnOverrideOutsideItsBoundsIsRefusedWithWhatIsAllowed(t *testing.T) {
	good := override.Override{Kind: override.Reserve, Workers: 1, Begin: t0, End: t0.Add(time.Hour)}
	if err := good.Check(t0); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		want   string
		change func(*override.Override)
	}{
		{"workers: found 0", func(o *override.Override) { o.Workers = 0 }},
		{"allowed is 1 to 100000", func(o *override.Override) { o.Workers = 100_001 }},
		{"only reserve has workers", func(o *override.Override) { o.Kind = override.Pause }},
		{"limits without min and max", func(o *override.Override) { o.Kind, o.Workers = override.Limits, 0 }},
		{"only limits has them", func(o *override.Override) { o.Min = number(1) }},
		{"min: found -1", func(o *override.Override) { limits(o, -1, 3) }},
		{"min 4 above max 3", func(o *override.Override) { limits(o, 4, 3) }},
		{"not after the begin", func(o *override.Override) { o.End = o.Begin }},
		{"which is past", func(o *override.Override) { o.Begin, o.End = t0.Add(-2*time.Hour), t0 }},
		{"at most 30 days from now", func(o *override.Override) { o.End = t0.Add(30*24*time.Hour + 1) }},
		{"lower-case letters", func(o *override.Override) { o.ID = "A b" }},
		{"1 to 64", func(o *override.Override) { o.ID = strings.Repeat("a", 65) }},
		{"at most 200 bytes", func(o *override.Override) { o.Reason = strings.Repeat("a", 201) }},
		{"reason: found 3 bytes", func(o *override.Override) { o.Reason = "a\x1bb" }},
		{"by: found 101", func(o *override.Override) { o.By = strings.Repeat("a", 101) }},
		{`kind: found "stop"`, func(o *override.Override) { o.Kind, o.Workers = "stop", 0 }},
		{"the begin at 2026-11-23T15", func(o *override.Override) { o.Begin = t0.Add(2 * time.Hour) }},
	} {
		o := good
		x.change(&o)
		if err := o.Check(t0); !errors.Is(err, override.ErrInvalid) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("found %v, want it to say %q", err, x.want)
		}
	}
}

// limits makes o one of other limits.
func limits(o *override.Override, least, most int) {
	o.Kind, o.Workers, o.Min, o.Max = override.Limits, 0, &least, &most
}

func TestAnOverrideSaysWhatItDoesUntilWhenAndWhy(t *testing.T) {
	until := t0.Add(2 * time.Hour)
	late := reserved("", 1)
	late.Begin, late.Grant = late.Begin.Add(5*time.Second), nil
	for want, o := range map[string]override.Override{
		"max 20 until 15:00 UTC (a slow database)": {Kind: override.Limits, Max: number(20), Begin: t0, End: until,
			Reason: "a slow database"},
		"min 2 and max 20 until 15:00 UTC": {Kind: override.Limits, Min: number(2), Max: number(20), Begin: t0,
			End: until},
		"paused until 15:00 UTC": {Kind: override.Pause, Begin: t0, End: until},
		"scale-in is held until 2026-11-24 13:00 UTC": {Kind: override.HoldScaleIn, Begin: t0,
			End: t0.Add(24 * time.Hour)},
		"reserved: 40 workers from 14:00 UTC until 14:30 UTC":       reserved("a", 40),
		"reserved: 0 of 1 worker from 14:00:05 UTC until 14:30 UTC": late,
	} {
		if got := o.Text(t0); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

func TestLimitsNarrowThoseOfTheConfiguration(t *testing.T) {
	limit := func(least, most *int) override.Override {
		return override.Override{Kind: override.Limits, Min: least, Max: most, Begin: t0, End: t0.Add(time.Hour)}
	}
	for _, x := range []struct {
		name      string
		list      override.List
		low, high int
	}{
		{"none", nil, 2, 50},
		{"a lower maximum", override.List{limit(nil, number(20))}, 2, 20},
		{"a higher minimum", override.List{limit(number(10), nil)}, 10, 50},
		{"a wider range changes nothing", override.List{limit(number(0), number(90))}, 2, 50},
		{"a maximum below the minimum", override.List{limit(nil, number(0))}, 2, 2},
		{"the smallest maximum wins", override.List{limit(number(30), nil), limit(nil, number(20)),
			limit(nil, number(25))}, 20, 20},
	} {
		if low, high := x.list.Limits(t0, 2, 50); low != x.low || high != x.high {
			t.Errorf("%s: found %d to %d, want %d to %d", x.name, low, high, x.low, x.high)
		}
		if low, high := x.list.Limits(t0.Add(time.Hour), 2, 50); low != 2 || high != 50 {
			t.Errorf("%s: after its end found %d to %d", x.name, low, high)
		}
	}
}

func TestReservationsThatOverlapAddUpAndAreUsedUpTogether(t *testing.T) {
	other := reserved("b", 5)
	other.Begin, other.Grant.LaunchAt = other.Begin.Add(10*time.Minute), t0.Add(68*time.Minute)
	l := override.List{reserved("a", 20), other}
	for _, x := range []struct {
		at   time.Duration
		want int
	}{{57 * time.Minute, 0}, {58 * time.Minute, 20}, {67 * time.Minute, 20}, {68 * time.Minute, 25},
		{89 * time.Minute, 25}, {90 * time.Minute, 0}} {
		if n, _ := l.Reserved(t0.Add(x.at)); n != x.want {
			t.Errorf("after %s: %d workers are reserved, want %d", x.at, n, x.want)
		}
	}
	for _, x := range []struct {
		at         time.Duration
		busy, most int
		want       int
	}{
		{59 * time.Minute, 20, 50, 0}, // it has not begun
		{60 * time.Minute, 19, 50, 0},
		{60 * time.Minute, 20, 50, 1},
		{68 * time.Minute, 20, 50, 0}, // the second one needs its workers too
		{68 * time.Minute, 25, 50, 1}, // and has not begun
		{70 * time.Minute, 25, 50, 2},
		{70 * time.Minute, 22, 22, 2}, // more cannot be busy
		{70 * time.Minute, 0, 0, 0},   // no worker may exist, and none was used
	} {
		if used := l.UsedUp(t0.Add(x.at), x.busy, x.most); len(used) != x.want {
			t.Errorf("after %s with %d busy: %d are used up, want %d", x.at, x.busy, len(used), x.want)
		}
	}
}

// TestLaunchingBeginsEarlierWhenBootsTakeLongerAndNeverStopsAgain moves the launch of a reservation.
func TestLaunchingBeginsEarlierWhenBootsTakeLongerAndNeverStopsAgain(t *testing.T) {
	l := override.List{reserved("a", 20), reserved("b", 5)}
	at := t0.Add(50 * time.Minute)
	if due := l.Due(at, 9*time.Minute); len(due) > 0 {
		t.Errorf("ten minutes ahead, with nine to boot: %+v", due)
	}
	for _, c := range l.Due(at, 10*time.Minute) {
		l = l.After(c)
	}
	if n, by := l.Reserved(at); n != 25 || by[0].ID != "a" || len(l) != 2 {
		t.Errorf("with ten minutes to boot %d workers are reserved, want 25", n)
	}
	if due := l.Due(at.Add(time.Minute), time.Minute); len(due) > 0 {
		t.Errorf("later boots are fast, and found %+v", due)
	}
}

// paused is a pause from and to the given times after t0.
func paused(from, to time.Duration) override.Override {
	return override.Override{ID: from.String(), Kind: override.Pause, Begin: t0.Add(from), End: t0.Add(to)}
}

func TestAGrantSaysHowManyWorkersAreInServiceAndWhen(t *testing.T) {
	room := override.Room{At: t0, Max: 50, LaunchesPerHour: 100, Lead: 2 * time.Minute, Active: 3, InService: 3}
	at := func(d time.Duration) time.Time { return t0.Add(d) }
	for _, x := range []struct {
		name           string
		change         func(*override.Room, *override.Override)
		workers, begin int
		service        time.Time
		why            string
	}{
		{"in full", func(*override.Room, *override.Override) {}, 40, 40, at(time.Hour), ""},
		{"within the maximum", func(r *override.Room, _ *override.Override) { r.Max = 25 }, 25, 25, at(time.Hour),
			"the maximum is 25"},
		{"within a temporary maximum", func(r *override.Room, _ *override.Override) {
			r.Others = override.List{{ID: "x", Kind: override.Limits, Max: number(9), Begin: at(80 * time.Minute),
				End: at(100 * time.Minute)}}
		}, 9, 9, at(time.Hour), "the maximum is 9"},
		{"within the budget", func(r *override.Room, _ *override.Override) { r.Affordable = 10 }, 10, 10,
			at(time.Hour), "the budget pays for 10 workers"},
		{"beside another one", func(r *override.Room, _ *override.Override) {
			r.Others = override.List{reserved("x", 30)}
		}, 20, 20, at(time.Hour), "other reservations hold 30"},
		{"the launches of two hours", func(r *override.Room, o *override.Override) {
			r.LaunchesPerHour, o.End = 30, at(4*time.Hour)
		}, 40, 30, at(2 * time.Hour), "30 launches an hour are allowed, 30 are free"},
		{"the launches before its end", func(r *override.Room, _ *override.Override) { r.LaunchesPerHour = 30 },
			30, 30, at(time.Hour), "30 launches an hour are allowed"},
		{"beside launches of the past hour", func(r *override.Room, o *override.Override) {
			r.LaunchesPerHour, r.LastHour = 30, 12
		}, 18, 18, at(time.Hour), "18 are free"},
		{"at once", func(_ *override.Room, o *override.Override) { o.Begin = t0 }, 40, 3, at(2 * time.Minute),
			"in service 2m0s after its launch, and the begin is sooner"},
		{"at once, and all are there", func(r *override.Room, o *override.Override) {
			o.Begin, o.Workers, r.Active, r.InService = t0, 5, 6, 5
		}, 5, 5, t0, ""},
		{"at once, and some still boot", func(r *override.Room, o *override.Override) {
			o.Begin, o.Workers, r.Active, r.InService = t0, 5, 6, 2
		}, 5, 2, at(2 * time.Minute), "and the begin is sooner"},
		{"during a pause", func(r *override.Room, o *override.Override) {
			o.Begin, r.Others = t0, override.List{paused(0, 20*time.Minute), paused(15*time.Minute, 30*time.Minute)}
		}, 40, 3, at(32 * time.Minute), "the fleet is paused until 13:30 UTC; a worker is in service 2m0s after"},
		{"during a pause, and all are there", func(r *override.Room, o *override.Override) {
			o.Begin, o.Workers, r.Others = t0, 3, override.List{paused(0, time.Hour)}
		}, 3, 3, t0, ""},
		{"after a pause", func(r *override.Room, _ *override.Override) {
			r.Others = override.List{paused(0, 50*time.Minute)}
		}, 40, 40, at(time.Hour), ""},
		{"within a pause", func(r *override.Room, o *override.Override) {
			o.Begin, r.Others = t0, override.List{paused(0, 2*time.Hour)}
		}, 3, 3, t0, "and the end is sooner"},
		{"too short", func(_ *override.Room, o *override.Override) { o.Begin, o.End = t0, at(time.Minute) }, 3, 3, t0,
			"and the end is sooner"},
	} {
		t.Run(x.name, func(t *testing.T) {
			r, o := room, override.Override{ID: "o", Kind: override.Reserve, Workers: 40, Begin: at(time.Hour),
				End: at(90 * time.Minute)}
			x.change(&r, &o)
			g, err := r.Grant(o)
			why := strings.Join(g.Why, "; ")
			if err != nil || g.Workers != x.workers || g.AtBegin != x.begin || !g.InServiceAt.Equal(x.service) ||
				!strings.Contains(why, x.why) || (why == "") != (x.why == "") {
				t.Errorf("found %+v, %v, want %d workers, %d at the begin, all at %s, because %q", g, err, x.workers,
					x.begin, x.service, x.why)
			}
		})
	}
	room.Max, room.Others = 30, override.List{reserved("x", 30)}
	if _, err := room.Grant(reserved("o", 1)); !errors.Is(err, override.ErrRefused) {
		t.Errorf("nothing is left, and found %v", err)
	}
}

func TestAnyGrantIsWithinTheLimitsTheBudgetAndWhatWasAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(least, most int, name string) int { return rapid.IntRange(least, most).Draw(t, name) }
		r := override.Room{At: t0, Min: n(0, 5, "min"), LaunchesPerHour: n(1, 50, "launches"),
			LastHour: n(0, 60, "last hour"), Active: n(0, 60, "active"), InService: n(0, 60, "in service"),
			Lead: time.Duration(n(1, 7200, "lead")) * time.Second, Affordable: n(0, 40, "affordable")}
		r.Max, r.InService = r.Min+n(0, 40, "span"), min(r.InService, r.Active)
		o := override.Override{ID: "o", Kind: override.Reserve, Workers: n(1, 100, "workers"),
			Begin: t0.Add(time.Duration(n(0, 400, "begin")) * time.Minute)}
		o.End = o.Begin.Add(time.Duration(n(1, 400, "length")) * time.Minute)
		for i := range n(0, 3, "others") {
			r.Others = r.Others.With(reserved(string(rune('a'+i)), n(1, 30, "other")))
		}
		g, err := r.Grant(o)
		most := r.Max
		if r.Affordable > 0 {
			most = min(most, r.Affordable)
		}
		switch {
		case err != nil && g.Workers == 0:
		case err != nil:
			t.Fatalf("refused with %+v: %v", g, err)
		case g.Workers < 1 || g.Workers > min(o.Workers, most) || g.AtBegin < 0 || g.AtBegin > g.Workers:
			t.Fatalf("granted %+v of %d, at most %d may exist", g, o.Workers, most)
		case g.LaunchAt.Before(t0) || g.InServiceAt.Before(o.Begin) || g.InServiceAt.After(o.End):
			t.Fatalf("launches at %s, in service at %s, from %s to %s", g.LaunchAt, g.InServiceAt, o.Begin, o.End)
		case (g.Workers < o.Workers || g.AtBegin < g.Workers) && len(g.Why) == 0:
			t.Fatalf("a part without a reason: %+v of %d", g, o.Workers)
		}
	})
}

func TestARequestIsCarriedOutOnceAndBounded(t *testing.T) {
	room := override.Room{At: t0, Max: 50, LaunchesPerHour: 100}
	pause := override.Override{Kind: override.Pause, Begin: t0.Add(-time.Minute), End: t0.Add(time.Hour)}
	var l override.List
	add := func(o override.Override, id string) override.Answer {
		c, changed, a := l.CarryOut(override.Request{Add: o}, room, id)
		if changed {
			l = l.After(c)
		}
		return a
	}
	if a := add(pause, "pause-1"); a.Err != nil || a.Override.ID != "pause-1" || !a.Override.Begin.Equal(t0) ||
		!a.Override.AskedAt.Equal(t0) {
		t.Fatalf("found %+v", a)
	}
	named := pause
	named.ID = "mine"
	for range 2 { // the answer to the first request was lost
		if a := add(named, "pause-2"); a.Err != nil || a.Override.ID != "mine" || len(l) != 2 {
			t.Fatalf("found %+v and %d overrides, want 2", a, len(l))
		}
	}
	other := override.Override{ID: "mine", Kind: override.HoldScaleIn, Begin: t0, End: pause.End}
	if a := add(other, ""); !errors.Is(a.Err, override.ErrRefused) {
		t.Errorf("another override with the same id: found %v", a.Err)
	}
	for i := range override.Most {
		a := add(pause, "more-"+string(rune('a'+i)))
		if full := i >= override.Most-2; full != errors.Is(a.Err, override.ErrRefused) {
			t.Errorf("override %d: found %v", i+3, a.Err)
		}
	}
	c, changed, a := l.CarryOut(override.Request{Cancel: "mine"}, room, "")
	if !changed || a.Override.ID != "mine" || len(l.After(c)) != override.Most-1 {
		t.Errorf("cancelling: found %+v, %+v", c, a)
	}
	if _, changed, a := l.CarryOut(override.Request{Cancel: "none"}, room, ""); changed ||
		!errors.Is(a.Err, override.ErrUnknown) {
		t.Errorf("cancelling an unknown one: found %v", a.Err)
	}
	if ended := l.Ended(t0.Add(time.Hour)); len(ended) != override.Most {
		t.Errorf("after an hour %d have ended, want all", len(ended))
	}
}

func TestARequestThatIsRepeatedAfterTheEndGrantsNothingAnew(t *testing.T) {
	hold := override.Override{ID: "rollout", Kind: override.HoldScaleIn, Reason: "v42", Begin: t0,
		End: t0.Add(time.Hour)}
	for what, want := range map[override.Event]string{
		override.Ended:     "scale-in is held (v42); it ended at 13:40 UTC",
		override.Cancelled: "scale-in is held (v42); it was cancelled at 13:40 UTC",
		override.UsedUp:    "scale-in is held (v42); it was used up at 13:40 UTC",
	} {
		at := t0.Add(40 * time.Minute)
		p := override.Past(nil).After(override.Change{What: what, Override: hold}, at)
		for _, q := range []override.Request{{Add: hold}, {Cancel: "rollout"}} {
			a, known := p.Answer(q, at.Add(time.Minute))
			if !known || a.Err != nil || a.Override.Over != what || a.Override.ActiveAt(at) ||
				a.Override.Text(at) != want {
				t.Errorf("%s, %+v: found %+v, %q, want %q", what, q, a, a.Override.Text(at), want)
			}
			if _, known := p.Answer(q, at.Add(override.Remembered)); known {
				t.Errorf("%s: the id is still remembered after %s", what, override.Remembered)
			}
		}
		other := hold
		other.Kind = override.Pause
		if a, known := p.Answer(override.Request{Add: other}, at); !known || !errors.Is(a.Err, override.ErrRefused) ||
			!strings.Contains(a.Err.Error(), "at 2026-11-23T13:40:00Z; give another id") {
			t.Errorf("another override with the id: found %+v", a)
		}
		other.ID = ""
		if _, known := p.Answer(override.Request{Add: other}, at); known {
			t.Error("a request without an id is about an override that ended")
		}
	}
}

func TestOverridesThatEndedAreRememberedUpToABound(t *testing.T) {
	var p override.Past
	for i := range 3 * override.MostPast {
		o := override.Override{ID: fmt.Sprint("o-", i), Kind: override.Pause, Begin: t0, End: t0.Add(time.Hour)}
		before := len(p)
		p.After(override.Change{What: override.Cancelled, Override: o}, t0)
		if len(p) != before {
			t.Fatal("a past was changed")
		}
		p = p.After(override.Change{What: override.Cancelled, Override: o}, t0)
	}
	if len(p) != override.MostPast || p[0].ID != "o-128" {
		t.Errorf("%d are remembered, the first is %s", len(p), p[0].ID)
	}
	last := p[len(p)-1]
	if p = p.After(override.Change{What: override.Ended, Override: last}, t0.Add(2*time.Hour)); len(p) != 1 {
		t.Errorf("%d are remembered after two hours, want the newest alone", len(p))
	}
	for _, what := range []override.Event{override.Added, override.Launching} {
		if p := p.After(override.Change{What: what, Override: reserved("r", 1)}, t0); len(p) != 1 {
			t.Errorf("%s: %d are remembered", what, len(p))
		}
	}
}

func TestAReservationIsNotDueDuringAPause(t *testing.T) {
	o := reserved("o", 4)
	o.Begin, o.Grant = t0, &override.Grant{Workers: 4, LaunchAt: t0.Add(10 * time.Minute)}
	l := override.List{paused(0, 10*time.Minute), o}
	if due := l.Due(t0, time.Minute); len(due) != 0 {
		t.Errorf("found %+v during the pause", due)
	}
	// The pause was cancelled: launching does not wait for the time of the grant.
	if due := l[1:].Due(t0, time.Minute); len(due) != 1 || !due[0].Override.Grant.LaunchAt.Equal(t0) {
		t.Errorf("found %+v after the pause, want the reservation", due)
	}
}
