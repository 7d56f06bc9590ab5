package report

import "fmt"

// names returns the names of the runs in pictures and tables: a run's own name or its policy. Runs on one trace that
// would have the same name get their seed behind it, or else their number.
func names(runs []Run) []string {
	all := make([]string, len(runs))
	for i, r := range runs {
		all[i] = r.Name
		if all[i] == "" {
			all[i] = r.Result.Policy
		}
		if all[i] == "" {
			all[i] = "run"
		}
	}
	all = apart(runs, all, func(r Run, _ int) string { return fmt.Sprintf("seed %d", r.Result.Seed) })
	return apart(runs, all, func(_ Run, place int) string { return fmt.Sprintf("no. %d", place) })
}

// apart adds to equal names of runs on one trace what by returns, where that differs among them.
func apart(runs []Run, all []string, by func(r Run, place int) string) []string {
	type called struct{ trace, name string }
	groups := map[called][]int{}
	for i, r := range runs {
		c := called{r.Result.Trace, all[i]}
		groups[c] = append(groups[c], i)
	}
	next := make([]string, len(all))
	for i, r := range runs {
		next[i] = all[i]
		group := groups[called{r.Result.Trace, all[i]}]
		differ := false
		place := 0
		for n, j := range group {
			differ = differ || by(runs[j], n+1) != by(runs[group[0]], 1)
			if j == i {
				place = n + 1
			}
		}
		// Where all runs of the name have the same text, it would only make names longer.
		if differ {
			next[i] += ", " + by(r, place)
		}
	}
	return next
}

// facet holds the runs on one trace, by their index in the report.
type facet struct {
	trace string
	runs  []int
}

// facets groups runs by their trace, in the order in which the traces first occur.
func facets(runs []Run) (all []facet) {
	place := map[string]int{}
	for i, r := range runs {
		n, ok := place[r.Result.Trace]
		if !ok {
			n = len(all)
			place[r.Result.Trace] = n
			all = append(all, facet{trace: r.Result.Trace})
		}
		all[n].runs = append(all[n].runs, i)
	}
	return all
}
