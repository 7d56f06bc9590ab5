package learning

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// sight is a queue as it was seen; a negative age is not known.
func sight(at time.Time, backlog, oldest float64) muster.Observation {
	q := muster.QueueObservation{Queue: "q", Backlog: muster.Measured(at, backlog),
		OldestAge: muster.Measured(at, oldest)}
	return muster.Observation{At: at, Queues: []muster.QueueObservation{q}}
}

func TestWhatWaitsIsWhatCameLast(t *testing.T) {
	group := func(age, n float64) muster.Waiting { return muster.Waiting{AgeSeconds: age, Messages: n} }
	// Counted were 10 messages at 100 s, 20 at 200 s and 5 at 240 s; 4 came since, and it is 245 s.
	usual := func() Memory {
		m := Memory{arrivals: series.Counts{Length: time.Hour}, learnedAt: after(242)}
		for _, x := range []struct{ at, n float64 }{{100, 10}, {200, 20}, {240, 5}} {
			m.arrivals = m.arrivals.Add(after(x.at), after(x.at), x.n)
		}
		m.measured = unrecorded{Arrived: 4, Since: after(243)}
		return m
	}
	for _, row := range []struct {
		name    string
		change  func(m *Memory)
		backlog float64
		oldest  float64 // negative: not known
		want    []muster.Waiting
	}{
		{"nothing", nil, 0, 0, nil},
		{"the newest, not counted yet", nil, 3, -1, []muster.Waiting{group(3, 3)}},
		{"those and some that were counted", nil, 6, -1, []muster.Waiting{group(5, 2), group(3, 4)}},
		{"all groups, the oldest in part", nil, 31, -1, []muster.Waiting{group(145, 2), group(45, 20), group(5, 5),
			group(3, 4)}},
		{"more than were counted: as old as the oldest that were", nil, 50, -1,
			[]muster.Waiting{group(145, 21), group(45, 20), group(5, 5), group(3, 4)}},
		{"more than were counted: as old as the oldest of all", nil, 50, 600,
			[]muster.Waiting{group(600, 11), group(145, 10), group(45, 20), group(5, 5), group(3, 4)}},
		{"nothing is older than the oldest", nil, 31, 20, []muster.Waiting{group(20, 22), group(5, 5), group(3, 4)}},
		{"one is as old as the oldest, because it failed and came back", nil, 6, 600,
			[]muster.Waiting{group(600, 1), group(5, 1), group(3, 4)}},
		{"the only one is", nil, 1, 600, []muster.Waiting{group(600, 1)}},
		{"the oldest came this instant", nil, 31, 0, []muster.Waiting{group(0, 31)}},
		{"what came while nothing was learned is no older than fresh", func(m *Memory) { m.learnedAt = noon }, 3, -1,
			[]muster.Waiting{group(6, 3)}},
		{"unless nobody looked for minutes", func(m *Memory) { m.learnedAt, m.measured.Since = noon, after(45) }, 3,
			-1, []muster.Waiting{group(200, 3)}},
		{"nothing was counted, and nobody counts: nobody knows",
			func(m *Memory) { *m = Memory{arrivals: series.Counts{Length: time.Hour}} }, 3, -1,
			[]muster.Waiting{group(0, 3)}},
		{"nothing came since the count began: they are as old as that", func(m *Memory) {
			*m = Memory{arrivals: series.Counts{Length: time.Hour}.Watch(after(45))}
		}, 3, -1, []muster.Waiting{group(200, 3)}},
		{"the clock was set back behind the arrivals", func(m *Memory) {
			m.arrivals = series.Counts{Length: time.Hour}.Add(after(250), after(250), 9)
		}, 9, -1, []muster.Waiting{group(3, 9)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := usual()
			if row.change != nil {
				row.change(&m)
			}
			got := m.Waiting(after(245), sight(after(245), row.backlog, row.oldest), 6*time.Second)
			if !slices.Equal(got, row.want) {
				t.Errorf("found %v, want %v", got, row.want)
			}
		})
	}
	m := usual()
	unknown := muster.Observation{Queues: []muster.QueueObservation{{Queue: "q",
		Backlog: muster.Unknown(noon, "no answer")}}}
	if got := m.Waiting(after(245), unknown, 6*time.Second); got != nil {
		t.Errorf("of an unknown backlog waits %v", got)
	}
}

// Rates are those of hours, but a message may wait for days: it does not become younger than it is, whatever comes
// after it or does not.
func TestAMessageKeepsItsAgeForAsLongAsItMayWait(t *testing.T) {
	const (
		hour  = 3600.0
		waits = 50                    // hours
		step  = waits * 9.0 / 8 / 256 // hours; so much older may a message look
		ever  = 1000                  // hours: late in any case
	)
	type came struct{ at, n float64 }          // in hours
	type aged struct{ least, most, n float64 } // in hours
	for _, row := range []struct {
		name string
		came []came
		now  float64
		want []aged
	}{
		{"nothing comes after it", []came{{1, 5}}, 50, []aged{{49, 49 + step, 5}}},
		{"others come after it", []came{{1, 5}, {30, 3}, {49, 2}}, 50,
			[]aged{{49, 49 + step, 5}, {20, 20 + step, 3}, {1, 1 + step, 2}}},
		{"a stream, of which the oldest were taken", []came{{1, 100}, {20, 100}, {49, 100}}, 50,
			[]aged{{30, 30 + step, 50}, {1, 1 + step, 100}}},
		{"it has waited for longer than it may", []came{{0, 7}, {79, 2}}, 80,
			[]aged{{waits, ever, 7}, {1, 1 + step, 2}}},
	} {
		m := New(Rules{LookBack: 12 * time.Hour, Learn: time.Hour, Waits: waits * time.Hour, Poll: time.Second})
		for _, x := range row.came {
			m.count(after(x.at*hour), Learned{Arrived: x.n, Since: after(x.at*hour - 1)})
		}
		backlog := 0.0
		for _, x := range row.want {
			backlog += x.n
		}
		now := after(row.now * hour)
		got := m.Waiting(now, sight(now, backlog, -1), 6*time.Second)
		if len(got) != len(row.want) {
			t.Errorf("%s: found %v, want %v", row.name, got, row.want)
			continue
		}
		for i, x := range row.want {
			if age := got[i].AgeSeconds / hour; got[i].Messages != x.n || age < x.least || age > x.most {
				t.Errorf("%s: found %v messages %v h old, want %v of %v to %v h", row.name, got[i].Messages, age, x.n,
					x.least, x.most)
			}
		}
	}
}

// Messages that came between two polls are spread over the steps between them, in parts that single precision rounds.
// So they do not add up to all that wait, and what is missing for that is no older message.
func TestPartsOfMessagesAreNoOlderMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(Rules{LookBack: time.Hour, Learn: time.Hour})
		m.count(after(0), Learned{Arrived: 5, Since: after(-1)}) // long ago, and all of them were taken
		n := float64(rapid.IntRange(1, 100_000).Draw(t, "messages"))
		over := rapid.Float64Range(1, 900).Draw(t, "over")
		at := 1800 + rapid.Float64Range(0, 300).Draw(t, "at")
		m.count(after(at), Learned{Arrived: n, Since: after(at - over)})
		later := at + rapid.Float64Range(0, 600).Draw(t, "later")
		groups := m.Waiting(after(later), sight(after(later), n, -1), 6*time.Second)
		const widest = 300
		if oldest := groups[0].AgeSeconds; oldest > later-at+over+widest {
			t.Fatalf("%v messages came within %v s, %v s ago: the oldest is taken to be %v s old", n, over, later-at,
				oldest)
		}
	})
}

// An approximate count is now and then a fifth too low. The messages that it leaves out wait all the same, so the
// others are as old as if they had been counted.
func TestACountThatIsTooLowMakesNoMessageYounger(t *testing.T) {
	m := New(Rules{LookBack: 12 * time.Hour, Learn: time.Hour, Poll: time.Second, OneQueue: true})
	r := Rules{OneQueue: true, Poll: time.Second}
	var o muster.Observation
	poll := func(at, backlog, inFlight float64) {
		q := muster.QueueObservation{Queue: "q", Backlog: muster.Measured(after(at), backlog),
			InFlight: muster.Measured(after(at), inFlight), Delayed: muster.Measured(after(at), 0),
			OldestAge: muster.Unknown(after(at), "the source does not tell ages")}
		m.Queue(after(at), r, o.Queues, &q)
		o = muster.Observation{At: after(at), Queues: []muster.QueueObservation{q}}
		m.Flush(after(at), false)
	}
	oldest := func(at float64) float64 { return m.Waiting(after(at), o, 6*time.Second)[0].AgeSeconds }
	poll(0, 0, 0)
	for k := range 100 { // one message each ten seconds
		poll(10*float64(k+1), float64(k+1), 0)
	}
	poll(1005, 80, 0)
	if got := oldest(1005); got < 985 {
		t.Errorf("80 of 100 messages are counted: the oldest is taken to be %v s old, and is 995 s old", got)
	}
	poll(1010, 40, 0)
	if got := oldest(1010); got < 500 || got > 700 {
		t.Errorf("40 of 100 messages are counted: the oldest is taken to be %v s old; want half as many more", got)
	}
	poll(1015, 80, 20)
	if got := oldest(1015); got < 785 || got > 840 {
		t.Errorf("20 of 100 messages are in flight: the oldest is taken to be %v s old, and is 805 s old", got)
	}
	for k := range 30 { // what has not been there for a while is gone
		poll(1020+float64(k), 80, 0)
	}
	if got := oldest(1050); got < 800 || got > 880 {
		t.Errorf("80 messages are left for half a minute: the oldest is taken to be %v s old, and is 840 s old", got)
	}
}

func TestTheAgesOfWhatWaitsAreInOrderAndAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, now, sent := New(Rules{LookBack: time.Hour, Learn: time.Hour}), noon, 0.0
		for range rapid.IntRange(0, 80).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{-2000, 50, 1000, 1000, 3000, 7000, 90_000}).Draw(t,
				"ms")) * time.Millisecond)
			sent += float64(rapid.SampledFrom([]int{0, 0, 1, 7, 300}).Draw(t, "sent"))
			m.arrived(now, muster.QueueObservation{Queue: "q", Sent: muster.Measured(now, sent)}, time.Second)
			m.Flush(now, false)
		}
		backlog, oldest := float64(rapid.IntRange(0, 2000).Draw(t, "backlog")), rapid.Float64Range(-100, 4000).Draw(t,
			"oldest")
		groups := m.Waiting(now, sight(now, backlog, oldest), 6*time.Second)
		sum := 0.0
		for i, g := range groups {
			sum += g.Messages
			if g.Messages <= 0 || g.AgeSeconds < 0 || oldest >= 0 && g.AgeSeconds > oldest || i > 0 &&
				g.AgeSeconds > groups[i-1].AgeSeconds {
				t.Fatalf("of %v messages, the oldest %v s old, wait %v", backlog, oldest, groups)
			}
		}
		if oldest >= 0 && backlog > 0 && groups[0].AgeSeconds != oldest {
			t.Fatalf("the oldest is %v s old, and of %v messages wait %v", oldest, backlog, groups)
		}
		if math.Abs(sum-backlog) > 1e-3 || len(groups) > muster.MaxGroups {
			t.Fatalf("%v of %v messages wait in %d groups: %v", sum, backlog, len(groups), groups)
		}
	})
}

func TestManyGroupsBecomeFewAndNoneLooksYounger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var newestFirst []muster.Waiting
		age := 0.0
		for range rapid.IntRange(0, 300).Draw(t, "groups") {
			age += rapid.Float64Range(0.1, 60).Draw(t, "older by")
			newestFirst = append(newestFirst,
				muster.Waiting{AgeSeconds: age, Messages: float64(rapid.IntRange(1, 9).Draw(t, "n"))})
		}
		// Message by message, the oldest first, the age that each group gives it.
		ages := func(groups []muster.Waiting) (all []float64) {
			for _, g := range groups {
				for range int(g.Messages) {
					all = append(all, g.AgeSeconds)
				}
			}
			return all
		}
		got := grouped(newestFirst)
		before := slices.Clone(newestFirst)
		slices.Reverse(before)
		a, b := ages(before), ages(got)
		if len(got) > muster.MaxGroups || len(a) != len(b) {
			t.Fatalf("%d messages in %d groups became %d in %d", len(a), len(before), len(b), len(got))
		}
		for i := range a {
			if b[i] < a[i] {
				t.Fatalf("message %d is %v s old and looks %v s old", i, a[i], b[i])
			}
		}
	})
}

func TestArrivalsAreWhatTheQueueCountedSinceTheLastLook(t *testing.T) {
	type look struct{ at, sent float64 } // a negative count is not known
	for _, row := range []struct {
		name    string
		looks   []look
		arrived float64
		since   float64
	}{
		{"the first look only begins to count", []look{{0, 100}}, 0, 0},
		{"what came between two looks", []look{{0, 100}, {1, 130}}, 30, 0},
		{"several looks add up, from the first on that brought some", []look{{0, 100}, {1, 100}, {2, 110}, {3, 130}},
			30, 1},
		{"nothing came", []look{{0, 100}, {1, 100}}, 0, 0},
		{"a queue that counts anew", []look{{0, 100}, {1, 7}}, 7, 0},
		{"nobody looked for minutes: since the last record", []look{{0, 100}, {200, 160}}, 60, 0},
		{"a clock that was set back: within the last second", []look{{100, 100}, {40, 160}}, 60, 39},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := New(Rules{LookBack: time.Hour})
			for _, l := range row.looks {
				m.arrived(after(l.at), muster.QueueObservation{Queue: "q", Sent: muster.Measured(after(l.at), l.sent)},
					time.Second)
			}
			l := m.measured
			if l.Arrived != row.arrived || l.Arrived > 0 && !l.Since.Equal(after(row.since)) {
				t.Errorf("%v came since %s, want %v since %s", l.Arrived, l.Since, row.arrived, after(row.since))
			}
		})
	}
}

func TestWhatWasSentWhileNobodyKnewCameSinceTheLastRecordThatDid(t *testing.T) {
	m := New(Rules{LookBack: time.Hour})
	sent := func(at float64, s muster.Sample) muster.QueueObservation {
		return muster.QueueObservation{Queue: "q", Sent: s}
	}
	note := func(at float64, s muster.Sample) {
		m.Noted(after(at), muster.Observation{Queues: []muster.QueueObservation{sent(at, s)}})
	}
	m.arrived(after(0), sent(0, muster.Measured(after(0), 100)), time.Second)
	note(0, muster.Measured(after(0), 100))
	note(10, muster.Measured(after(10), 100))
	note(16, muster.Unknown(after(16), "no answer"))
	m.arrived(after(40), sent(40, muster.Measured(after(40), 160)), time.Second)
	if l := m.measured; l.Arrived != 60 || !l.Since.Equal(after(10)) {
		t.Errorf("%v came since %s, want 60 since %s", l.Arrived, l.Since, after(10))
	}
}

func TestSeveralQueuesAreCountedOneByOne(t *testing.T) {
	m := New(Rules{LookBack: time.Hour})
	see := func(at float64, queue string, sent float64) {
		m.arrived(after(at), muster.QueueObservation{Queue: queue, Sent: muster.Measured(after(at), sent)},
			time.Second)
	}
	see(0, "a", 10)
	see(5, "b", 500)
	see(6, "b", 503)
	see(7, "a", 14)
	if l := m.measured; l.Arrived != 7 || !l.Since.Equal(after(5)) {
		t.Errorf("%v came since %s, want 7 since %s", l.Arrived, l.Since, after(5))
	}
}

func TestRatesAreOverTheTimeThatTheyName(t *testing.T) {
	c := series.Counts{Length: time.Hour}.Watch(noon)
	for _, x := range []struct{ at, n float64 }{{100, 600}, {3400, 240}, {3560, 60}, {3597, 10}} {
		c = c.Add(after(x.at), after(x.at), x.n)
	}
	want := muster.Arrivals{Known: true, TenSeconds: 1, Minute: 70.0 / 60, FiveMinutes: 310.0 / 300, Hour: 910.0 / 3600}
	got := rates(c, after(3600))
	for _, x := range [][2]float64{{got.TenSeconds, want.TenSeconds}, {got.Minute, want.Minute},
		{got.FiveMinutes, want.FiveMinutes}, {got.Hour, want.Hour}} {
		if math.Abs(x[0]-x[1]) > 1e-6 || !got.Known {
			t.Errorf("found %+v, want %+v", got, want)
		}
	}
	if got := rates(series.Counts{Length: time.Hour}, noon); got.Known || got.Hour != 0 {
		t.Errorf("of what nobody counts: %+v", got)
	}
}

func TestTheBusiestTimesGrowWithTheWindow(t *testing.T) {
	c := series.Counts{Length: time.Hour}.Add(after(0), after(5), 10).Add(after(20), after(25), 30)
	last, most := 0.0, 0.0
	for _, b := range busiest(c, after(30), 1) {
		if b.OverSeconds <= last || b.Messages < most {
			t.Fatalf("%v within %v s after %v within %v s", b.Messages, b.OverSeconds, most, last)
		}
		last, most = b.OverSeconds, b.Messages
		if want := map[bool]float64{true: 30, false: 40}[b.OverSeconds <= 20]; b.Messages != want {
			t.Errorf("within %v s: %v, want %v", b.OverSeconds, b.Messages, want)
		}
	}
}
