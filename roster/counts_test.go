package roster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"

	"github.com/muster-scale/muster/worker/lease"
)

// counts adds up what reports count.
type counts struct {
	finished, failed, durations, failing, classed int64
	seconds                                       float64
}

// add adds what a report brought that no earlier one had.
func (c *counts) add(rep protocol.Report, news roster.News) {
	for _, t := range brought(rep, news) {
		c.finished, c.failed = c.finished+t.Finished, c.failed+t.Failed
		c.durations, c.seconds = c.durations+t.Processing.Count, c.seconds+t.Processing.SumSeconds
		c.failing += t.Failing.Count
		for _, d := range t.Classes {
			c.classed += d.Count
		}
	}
}

// brought are the new counts of a report: first those that it repeats, then its own.
func brought(rep protocol.Report, news roster.News) []protocol.Tally {
	if !news.Counts {
		return news.Repeated
	}
	return append(news.Repeated, rep.Tally())
}

// repeats has a report repeat those with the given numbers, each of which counted one message.
func repeats(seqs ...int64) func(*protocol.Report) {
	return func(r *protocol.Report) {
		for _, seq := range seqs {
			r.Unanswered = append(r.Unanswered, protocol.Tally{Seq: seq, Finished: 1})
		}
	}
}

func TestWhatAReportRepeatsCountsOnce(t *testing.T) {
	one := finished(1)
	for _, row := range []struct {
		name    string
		reports []protocol.Report
		want    int64
	}{
		{"an answer comes in time", []protocol.Report{says("m", 1, protocol.Receiving, number(1), one),
			says("m", 2, protocol.Receiving, number(2), one)}, 2},
		{"an answer comes late", []protocol.Report{says("m", 1, protocol.Receiving, number(1), one),
			says("m", 6, protocol.Receiving, number(2), one, repeats(1))}, 2},
		{"many answers come late", []protocol.Report{
			says("m", 1, protocol.Receiving, number(1), one),
			says("m", 6, protocol.Receiving, number(2), one, repeats(1)),
			says("m", 11, protocol.Receiving, number(3), repeats(1, 2)),
			says("m", 16, protocol.Receiving, number(4), one, repeats(1, 2)),
		}, 3},
		{"a report is lost", []protocol.Report{says("m", 1, protocol.Receiving, number(1), one),
			says("m", 6, protocol.Receiving, number(3), one, repeats(1, 2))}, 3},
		{"the first report is lost", []protocol.Report{says("m", 6, protocol.Receiving, number(2), repeats(1))}, 1},
		{"a report comes twice", []protocol.Report{says("m", 1, protocol.Receiving, number(1), one),
			says("m", 2, protocol.Receiving, number(1), one)}, 1},
		{"a report overtakes another", []protocol.Report{says("m", 1, protocol.Receiving, number(2), one, repeats(1)),
			says("m", 2, protocol.Receiving, number(1), one)}, 2},
		{"the worker is started again under its name",
			[]protocol.Report{says("m", 1, protocol.Receiving, number(5), one),
				says("m", 6, protocol.Receiving, number(1001), one, repeats(1000))}, 3},
		{"a worker that repeats nothing, as older ones: its counts are new",
			[]protocol.Report{says("m", 1, protocol.Receiving, number(1), one),
				says("m", 6, protocol.Receiving, number(2), finished(2))}, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r roster.Roster
			var c counts
			for _, rep := range row.reports {
				_, news := r.Reported(rep)
				c.add(rep, news)
			}
			if c.finished != row.want {
				t.Errorf("counted %d messages, want %d", c.finished, row.want)
			}
		})
	}
}

// What is under way when a machine ends was finished all the same.
func TestWhatAMemberFinishedCountsAfterItsEnd(t *testing.T) {
	var r roster.Roster
	took(t, &r, says("m", 1, protocol.Receiving, number(1), finished(1)))
	r.Listed(ended(list(2), "m", ""))
	before := r.Clone()
	late := says("m", 3, protocol.Receiving, number(3), finished(1), repeats(1, 2))
	for n, want := range []int64{2, 0} {
		taken, news := r.Reported(late)
		var c counts
		if c.add(late, news); taken || c.finished != want {
			t.Errorf("delivery %d: counted %d messages, want %d; it brought the member back: %t", n+1, c.finished, want,
				taken)
		}
	}
	if _, news := before.Reported(late); len(brought(late, news)) != 2 {
		t.Error("a clone changed with the roster")
	}
	if len(r.Members()) != 0 {
		t.Error("the report brought the member back")
	}
}

func TestCheckRefusesRepetitionsThatCannotBe(t *testing.T) {
	tally := func(change func(*protocol.Tally)) func(*protocol.Report) {
		return func(r *protocol.Report) {
			x := protocol.Tally{Seq: 1, Finished: 1, Processing: series.Add(series.Durations{}, time.Second)}
			change(&x)
			r.Unanswered = []protocol.Tally{x}
		}
	}
	many := make([]int64, protocol.MaxUnanswered+1)
	for i := range many {
		many[i] = int64(i + 1)
	}
	for _, row := range []struct {
		name   string
		change func(*protocol.Report)
		says   string
	}{
		{"too many", repeats(many...), "17 unanswered reports, at most 16"},
		{"the report itself", repeats(100), "report 100 after 0"},
		{"no number", repeats(0), "report 0 after 0"},
		{"one twice", repeats(5, 5), "report 5 after 5"},
		{"out of order", repeats(6, 5), "report 5 after 6"},
		{"fewer messages than none", tally(func(x *protocol.Tally) { x.Finished = -1 }), "-1 messages finished"},
		{"durations without a count", tally(func(x *protocol.Tally) { x.Processing.Count = 0 }),
			"durations that cannot be measured"},
		{"more of a class than of all", tally(func(x *protocol.Tally) {
			x.Classes = map[string]series.Durations{"a": series.Add(series.Durations{}, time.Second, time.Second)}
		}), "class whose durations"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := roster.Check(says("m", 1, protocol.Receiving, number(100), row.change))
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("found %v, want an error that says %q", err, row.says)
			}
		})
	}
	if err := roster.Check(says("m", 1, protocol.Receiving, number(100), repeats(many[1:]...))); err != nil {
		t.Error(err)
	}
}

// post is a worker that reports to a roster over a network which keeps, loses, repeats and reorders everything.
type post struct {
	lease   lease.Lease
	roster  roster.Roster
	now     float64
	reports []protocol.Report
	answers []posted
	done    counts // by the worker
	counted counts // by the roster
	ended   bool
}

type posted struct {
	report    protocol.Report
	directive protocol.Directive
}

func (p *post) finish(ok bool, seconds int, class string) {
	asked := p.lease.BeginReceive(1)
	if asked == 0 {
		return
	}
	d := time.Duration(seconds) * time.Second
	p.lease.EndReceive(at(p.now), asked, asked)
	p.lease.End(at(p.now), lease.End{Received: at(p.now), Took: d, OK: ok, Class: class})
	if !ok {
		p.done.failed, p.done.failing = p.done.failed+1, p.done.failing+1
		return
	}
	p.done.finished++
	p.done.durations, p.done.seconds = p.done.durations+1, p.done.seconds+d.Seconds()
	if class != "" {
		p.done.classed++
	}
}

func (p *post) deliver(r protocol.Report) {
	r.At = at(p.now)
	_, news := p.roster.Reported(r)
	p.counted.add(r, news)
	d := p.roster.Directive("m", "m")
	if !p.ended { // one that is gone hears nothing
		p.answers = append(p.answers, posted{r, d})
	}
}

func (p *post) do(t *rapid.T) {
	p.now++
	pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "which") }
	switch rapid.SampledFrom([]string{"finish", "finish", "report", "report", "deliver", "deliver", "repeat", "lose",
		"answer", "answer", "lose answer"}).Draw(t, "action") {
	case "finish":
		p.finish(rapid.Bool().Draw(t, "ok"), rapid.IntRange(0, 100).Draw(t, "seconds"),
			rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "class"))
	case "report":
		p.reports = append(p.reports, p.lease.Report(at(p.now)))
	case "deliver":
		if n := len(p.reports); n > 0 {
			i := pick(n)
			r := p.reports[i]
			p.reports = slices.Delete(p.reports, i, i+1)
			p.deliver(r)
		}
	case "repeat":
		if n := len(p.reports); n > 0 {
			p.deliver(p.reports[pick(n)])
		}
	case "lose":
		if n := len(p.reports); n > 0 {
			i := pick(n)
			p.reports = slices.Delete(p.reports, i, i+1)
		}
	case "answer":
		if n := len(p.answers); n > 0 {
			a := p.answers[pick(n)]
			p.lease.Obey(at(p.now), a.report, a.directive)
		}
	case "lose answer":
		if n := len(p.answers); n > 0 {
			i := pick(n)
			p.answers = slices.Delete(p.answers, i, i+1)
		}
	}
}

// settle has the newest report arrive and be answered, and once more what had no room in it.
func (p *post) settle() {
	for range 2 {
		p.now++
		r := p.lease.Report(at(p.now))
		p.deliver(r)
		p.lease.Obey(at(p.now), r, p.roster.Directive("m", "m"))
	}
}

// Whatever is late, lost or comes twice: nothing counts twice at any time, and once all is answered everything counts.
func TestEverythingThatIsFinishedCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := post{lease: lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "m", Slots: 1})}
		p.lease.Ready(t0)
		for range rapid.IntRange(10, 200).Draw(t, "steps") {
			p.do(t)
			if p.counted.finished > p.done.finished || p.counted.durations > p.done.durations {
				t.Fatalf("counted %+v of %+v", p.counted, p.done)
			}
		}
		if p.ended = rapid.Bool().Draw(t, "the member ends"); p.ended {
			p.now++
			p.roster.Listed(ended(list(p.now), "m", ""))
		}
		p.settle()
		for _, late := range p.reports {
			p.deliver(late)
		}
		if found, want := fmt.Sprintf("%+v", p.counted), fmt.Sprintf("%+v", p.done); found != want {
			t.Fatalf("counted %s, finished %s; the member ended: %t", found, want, p.ended)
		}
	})
}

// challenged has a report repeat the challenge that the roster gave its worker.
func challenged(r *roster.Roster) func(*protocol.Report) {
	return func(rep *protocol.Report) { rep.Challenge = r.Directive(rep.Member, rep.Worker).Challenge }
}

func TestTheRoundTripIsThatOfTheChallenge(t *testing.T) {
	var r roster.Roster
	expect := func(when string, want time.Duration) {
		t.Helper()
		if got := r.RoundTrip(); got != want {
			t.Errorf("%s: found %v, want %v", when, got, want)
		}
	}
	expect("without a worker", 0)
	took(t, &r, says("a", 1, protocol.Receiving))
	expect("before an answer was heard", 0)
	took(t, &r, says("a", 6, protocol.Receiving, busy(1)))
	expect("after a report that was sent before the answer came", 0)
	took(t, &r, says("a", 17, protocol.Receiving, busy(1), challenged(&r)))
	expect("after one that was sent later", 16*time.Second)
	took(t, &r, says("a", 40, protocol.Receiving, challenged(&r)))
	expect("at later reports", 16*time.Second)
	took(t, &r, says("b", 40, protocol.Receiving))
	took(t, &r, says("b", 44, protocol.Receiving, challenged(&r)))
	expect("of two workers, their mean", 10*time.Second)
	took(t, &r, says("c", 50, protocol.Receiving))
	took(t, &r, says("c", 5000, protocol.Receiving, challenged(&r)))
	expect("of one that stood still, it counts for a bounded time", (90+16+4)*time.Second/3)
}
