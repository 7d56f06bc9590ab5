package limit

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/trace"
)

// twoBursts is a profile with a gap between two bursts, and its certificate.
func twoBursts(t testing.TB) (*Profile, Bound, Problem) {
	var all []trace.Message
	for _, at := range []time.Duration{0, 10 * time.Minute} {
		for range 40 {
			all = append(all, trace.Message{Arrival: at, Service: 5 * time.Second})
		}
	}
	p := Problem{Trace: trace.Of("two bursts", all...), Latency: time.Minute, Quantile: 0.95, Boot: 30 * time.Second,
		Slots: 2}
	f, err := Read(p)
	if err != nil {
		t.Fatal(err)
	}
	for f.length() > 100 {
		f = f.wider()
	}
	b, err := f.Prices(Prescient, 500)
	if err != nil {
		t.Fatal(err)
	}
	return f, b, p
}

func TestACertificateSurvivesJSON(t *testing.T) {
	f, b, _ := twoBursts(t)
	text, err := json.Marshal(b.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	var c Certificate
	if err := json.Unmarshal(text, &c); err != nil || !reflect.DeepEqual(c, *b.Certificate) {
		t.Fatalf("read back: %v, %v", c, err)
	}
	again, err := Check(f, c)
	if err != nil || !reflect.DeepEqual(again, b) {
		t.Fatalf("checked again: %v, %v", again, err)
	}
	if work := f.Work().WorkerSeconds; b.WorkerSeconds <= work {
		t.Errorf("prices prove %v, no more than the work, %v", b.WorkerSeconds, work)
	}
}

func TestCheckRefusesWhatIsNoProof(t *testing.T) {
	f, b, _ := twoBursts(t)
	for _, row := range []struct {
		name  string
		spoil func(*Certificate)
		want  string
	}{
		{"a price at which a worker profits", func(c *Certificate) { c.Prices[1] += 40 * neutral }, "workers can earn"},
		{"many prices, each a little too high", func(c *Certificate) {
			for t := range c.Prices {
				c.Prices[t] += neutral / 2
			}
		}, "workers can earn"},
		{"a negative price", func(c *Certificate) { c.Prices[3] = -1 }, "price 3 is -1; allowed is 0 to"},
		{"an enormous price", func(c *Certificate) { c.Prices[3] = 1 << 60 }, "price 3 is"},
		{"a price too few", func(c *Certificate) { c.Prices = c.Prices[1:] }, "the number of prices is"},
		{"another width", func(c *Certificate) { c.Width++ }, "the width is"},
		{"no width", func(c *Certificate) { c.Width = 0 }, "the width is 0s; allowed is"},
		{"a width beyond the trace", func(c *Certificate) { c.Width <<= 20 }, "the width is"},
		{"a negative fee", func(c *Certificate) { c.Fee = -time.Second }, "the fee is -1s"},
		{"no start", func(c *Certificate) { c.Start = "" }, `the start is ""; allowed is prescient or causal`},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := *b.Certificate
			c.Prices = slices.Clone(c.Prices)
			row.spoil(&c)
			got, err := Check(f, c)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("Check says %v, %v; want an error with %q", got.WorkerSeconds, err, row.want)
			}
		})
	}
}

// With a maximum prices may be higher than workers cost: what all of them can earn is taken off.
func TestAMaximumAllowsWorkersToProfit(t *testing.T) {
	f, b, _ := twoBursts(t)
	limited := *f
	limited.problem.Max = 3
	c := *b.Certificate
	c.Prices = slices.Clone(c.Prices)
	c.Prices[0] += 100 * neutral
	spoiled, err := Check(&limited, c)
	if err != nil {
		t.Fatal(err)
	}
	// A worker serves slot 0 alone for 100 of its widths, and a boot; three of them are taken off, for work of at most
	// what was there.
	if spoiled.WorkerSeconds >= b.WorkerSeconds {
		t.Errorf("a senseless price raises the bound from %v to %v", b.WorkerSeconds, spoiled.WorkerSeconds)
	}
}

func TestNeutralPricesProveTheWork(t *testing.T) {
	f, b, _ := twoBursts(t)
	c := Certificate{Start: "prescient", Width: b.Certificate.Width}
	for range b.Certificate.Prices {
		c.Prices = append(c.Prices, neutral)
	}
	got, err := Check(f, c)
	if want := 80 * 5 / 2.0; err != nil || got.WorkerSeconds != want {
		t.Errorf("neutral prices prove %v, %v; want %v", got.WorkerSeconds, err, want)
	}
}

// FuzzCheck holds that no accepted certificate, wherever it comes from, proves more than a schedule pays.
func FuzzCheck(f *testing.F) {
	profile, b, p := twoBursts(f)
	s, err := Oracle(p, Prescient)
	if err != nil || !s.Kept {
		f.Fatal(s, err)
	}
	causal, err := Oracle(p, Causal)
	if err != nil || !causal.Kept {
		f.Fatal(causal, err)
	}
	text, err := json.Marshal(b.Certificate)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(strings.Replace(string(text), "prescient", "causal", 1)))
	f.Add([]byte(`{"start":"prescient","width_ns":1,"prices_millionths":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c Certificate
		if json.Unmarshal(text, &c) != nil {
			return
		}
		got, err := Check(profile, c)
		if err != nil {
			return
		}
		most := s.WorkerSeconds
		if got.Start == "causal" {
			most = causal.WorkerSeconds
		}
		if got.WorkerSeconds < 0 || got.WorkerSeconds > most || got.Unreachable {
			t.Errorf("prices prove %v, but a schedule pays %v", got.WorkerSeconds, most)
		}
	})
}

// Prices are neutral but for the last slot of time, which costs nothing. The messages of 2 s arrive at 0 s and 60 s;
// the one of 100 s is longer than the objective.
func TestCheckByHand(t *testing.T) {
	const s = time.Second
	p := Problem{
		Trace: trace.Of("by hand", trace.Message{Service: 2 * s}, trace.Message{Service: 100 * s},
			trace.Message{Arrival: 60 * s, Service: 2 * s}),
		Latency: 10 * s, Quantile: 1, Boot: 5 * s, Slots: 1,
	}
	for _, row := range []struct {
		name  string
		spoil func(*Problem, *Certificate)
		want  float64
	}{
		{"only the first pays: the last waits for the free slot of time, the long one for ever",
			func(*Problem, *Certificate) {}, 2},
		{"nothing is free", func(_ *Problem, c *Certificate) { c.Prices[len(c.Prices)-1] = neutral }, 104},
		{"the long one is left undone", func(p *Problem, c *Certificate) {
			p.Shed, c.Prices[len(c.Prices)-1] = true,
				neutral
		}, 4},
		{"one may be late, so a fee is taken off", func(p *Problem, c *Certificate) {
			p.Quantile, c.Fee, c.Prices[len(c.Prices)-1] = 0.5, 1500*time.Millisecond, neutral
		}, 102.5},
		{"no message may be late, so none gets the fee back", func(_ *Problem, c *Certificate) { c.Fee = s }, 1},
		{"the minimum earns what its time costs", func(p *Problem, _ *Certificate) { p.Min = 1 }, 2},
		{"the minimum idles for a minute at no price", func(p *Problem, c *Certificate) { p.Min = 1; clear(c.Prices) },
			60},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := p
			c := Certificate{Start: "prescient", Fee: 100 * s}
			f, err := Read(p)
			if err != nil {
				t.Fatal(err)
			}
			c.Width = f.width
			for range f.length() {
				c.Prices = append(c.Prices, neutral)
			}
			c.Prices[f.length()-1] = 0
			row.spoil(&p, &c)
			if f, err = Read(p); err != nil {
				t.Fatal(err)
			}
			if got, err := Check(f, c); err != nil || math.Abs(got.WorkerSeconds-row.want) > 0.05 {
				t.Errorf("the prices prove %v, %v; want %v", got.WorkerSeconds, err, row.want)
			}
		})
	}
}

// A class is split into messages of its two extreme sizes, as many and as much work.
func TestAClassIsSplitByHand(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		name string
		c    class
		want [2]atom
	}{
		{"one size", class{count: 3, work: 6 * s, least: 2 * s, most: 2 * s}, [2]atom{{6 * s, 2 * s}}},
		{"1 s, 3 s and 3 s", class{count: 3, work: 7 * s, least: s, most: 3 * s}, [2]atom{{6 * s, 3 * s}, {s, s}}},
		{"1 s, 2 s and 3 s", class{count: 3, work: 6 * s, least: s, most: 3 * s},
			[2]atom{{4500 * time.Millisecond, 3 * s}, {1500 * time.Millisecond, s}}},
		{"rounded to the larger", class{count: 2, work: 4, least: 1, most: 3}, [2]atom{{3, 3}, {1, 1}}},
		{"a size of nothing", class{count: 2, work: 5, least: 0, most: 5}, [2]atom{{5, 5}, {0, 0}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.c.atoms(); got != row.want {
				t.Errorf("atoms are %v, want %v", got, row.want)
			}
		})
	}
}
