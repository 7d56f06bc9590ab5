package plan

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/muster-scale/muster/policy/outlook"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Prospect is what a size means for the objective, and its price, as muster plan -o json prints it.
type Prospect struct {
	outlook.Outlook
	// CostPerHour is the price of the size per hour; zero when no price is set.
	CostPerHour float64 `json:"cost_per_hour,omitzero"`
}

// prospects returns the prospects of n-1, n and n+1 workers. Three sizes show whether one worker more or fewer would
// matter; price is per worker and hour.
func prospects(o muster.Observation, n int, price float64) []Prospect {
	all := []Prospect{}
	for workers := max(0, n-1); workers <= n+1; workers++ {
		x := outlook.Of(o, workers)
		for _, e := range []*outlook.Expectation{&x.Now, &x.Steady} {
			e.Seconds, e.InTime = rounded(e.Seconds, 1e3), rounded(e.InTime, 1e5)
		}
		x.Late = rounded(x.Late, 1e3)
		all = append(all, Prospect{x, rounded(price*float64(workers), 1e6)})
	}
	return all
}

// rounded removes digits that differ between processors.
func rounded(v, to float64) float64 { return math.Round(v*to) / to }

// PrintOutlook prints a table of the prospects, then the reasons of missing numbers.
func PrintOutlook(w io.Writer, all []Prospect) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nif the size stayed at\n")
	fmt.Fprintln(t, "  WORKERS\tA MESSAGE NOW\tIN TIME\tWAITING, LATE\tIN THE LONG RUN\tIN TIME\tAN HOUR")
	for _, p := range all {
		late, cost := "?", "-"
		if p.Now.Known {
			late = strconv.FormatFloat(p.Late, 'f', 0, 64)
		}
		if p.CostPerHour > 0 {
			cost = render.Number(p.CostPerHour)
		}
		fmt.Fprintf(t, "  %d\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Workers, seconds(p.Now), share(p.Now), late,
			seconds(p.Steady), share(p.Steady), cost)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	// The three rows mostly lack numbers for the same reason.
	said := map[string]bool{}
	for _, p := range all {
		for _, e := range []outlook.Expectation{p.Now, p.Steady} {
			if !e.Known && !said[e.Reason] {
				said[e.Reason] = true
				fmt.Fprintf(w, "  ?: %s\n", e.Reason)
			}
		}
	}
	return nil
}

// seconds renders an expected time; ? when it is unknown.
func seconds(e outlook.Expectation) string {
	if !e.Known {
		return "?"
	}
	return render.Seconds(e.Seconds)
}

// share renders a probability in per cent. Only certainty prints as 100 %.
func share(e outlook.Expectation) string {
	if !e.Known {
		return "?"
	}
	text := strconv.FormatFloat(100*e.InTime, 'f', 1, 64)
	if text == "100.0" && e.InTime < 0.9999 {
		return "99.9%"
	}
	return text + "%"
}
