package report

import "fmt"

// names returns what pictures and tables call each run: its own name or its policy, and where runs on one trace would
// have the same one, the seed or at last its place among them.
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

// apart adds what tells equal names on one trace apart, if it does.
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
		if differ {
			next[i] += ", " + by(r, place)
		}
	}
	return next
}

// facet is the runs on one trace, by their places in the report.
type facet struct {
	trace string
	runs  []int
}

// facets groups runs by their trace, in the order in which the traces first come.
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
