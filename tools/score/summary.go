package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/muster-scale/muster/tools/score/report"
)

// The goals of all parts also stand at the end of docs/benchmarks.md, where readers look for figures first.

// summaryOn is the heading of the last part of docs/benchmarks.md, which is written here and which `make bench` leaves
// as it is.
const summaryOn = "\n## How good decisions are\n"

// summarize writes the goals of all parts at the end of the page of benchmarks at path, in place of the earlier ones.
// An empty path writes nothing.
func (p *page) summarize(path string) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put the goals on the page of benchmarks: %w", err)
	}
	// Without an earlier summary that is the whole page.
	above, _, _ := strings.Cut(string(text), summaryOn)
	return os.WriteFile(path, []byte(strings.TrimRight(above, "\n")+"\n"+p.summary()), 0o644)
}

// summary is a table of the goals of all parts, taken from the text of the page: kept parts have no figures but their
// text.
func (p *page) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nOf the default policy, `deadline`, in the simulator; written by `make score` at commit %s. "+
		"[quality.md](quality.md) shows each\nrun behind these figures.\n\n%s\n%s\n",
		summaryOn, p.at(), report.Row([]string{"part", "what", "goal", "found", "met"}), report.Row([]string{"---",
			"---", "---",
			"---", "---"}))
	for _, x := range p.played {
		_, goals, _ := strings.Cut(x.text, "\n"+goalsOn+"\n")
		// A table ends with an empty line.
		goals, _, _ = strings.Cut(goals, "\n\n")
		for _, line := range strings.Split(goals, "\n")[1:] {
			b.WriteString("| " + x.part.name + " " + line + "\n")
		}
	}
	for _, m := range p.missing {
		b.WriteString(report.Row([]string{m.part.name, m.part.title, "", "", "**left out**: " + m.why}) + "\n")
	}
	return b.String()
}
