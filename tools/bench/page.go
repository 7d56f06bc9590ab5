package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/host"
)

// The page docs/benchmarks.md. It has one row for each goal, met or not, the table of the lanes of the queue, and
// notes. The last part of the page belongs to make score and is kept as it is.

// page collects the results while the parts run. goals and table are rows of Markdown.
type page struct {
	// full is that of bench; started, machine and load describe the run in the head of the page.
	full    bool
	started time.Time
	machine string
	load    string
	// peer is the version of Redis; missing says why there is none.
	peer    string
	missing string
	// goals and table are rows of Markdown, notes are paragraphs.
	goals []string
	table []string
	notes []string
}

// begin notes the machine and its load.
func (p *page) begin(dir string, full bool) {
	p.full, p.started, p.load = full, time.Now(), host.Load()
	p.machine = fmt.Sprintf("%s, %d cores, %s/%s, %s, temporary files on %s", processor(), runtime.NumCPU(),
		runtime.GOOS, runtime.GOARCH, runtime.Version(), fileSystem(dir))
}

// goal adds a row: the goal, what was found, and whether it is met. why is one sentence for a goal that is not met; it
// is written before the result is known, so it names the largest known cost.
func (p *page) goal(what, target, figure string, met bool, why string) {
	said := "met"
	// A goal that is not met stays on the page, with its reason.
	if !met {
		said = "**not met**: " + why
	}
	p.goals = append(p.goals, row(what, target, figure, said))
}

// note adds a paragraph below the tables.
func (p *page) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// against adds the goal of a lane relative to its peer. Without the peer the row says why it was left out.
func (p *page) against(l, peer *lane, least float64, why string) {
	what, target := l.name+", "+strconv.Itoa(clients)+" clients", fmt.Sprintf(">= %g x %s", least, "Redis")
	if peer == nil {
		p.goals = append(p.goals, row(what, target, "-", "left out: "+p.missing))
		return
	}
	// The range shows how far the rounds differ.
	median, low, high := ratio(l, peer)
	p.goal(what, target, fmt.Sprintf("%.2f x (%.2f to %.2f)", median, low, high), median >= least, why)
}

// lanes adds the table of all lanes, with their rates, latencies and processor times.
func (p *page) lanes(lanes []*lane, peer *lane) {
	p.table = append(p.table, row("lane", "cycle", "cycles/s, median", "against Redis, median (range)",
		"p50 of a client's step", "p99", "processor time a cycle, clients + server"),
		row("---", "---", "---:", "---:", "---:", "---:", "---:"))
	for _, l := range lanes {
		// A lane is not compared with itself.
		against := "-"
		if peer != nil && l != peer && len(peer.rates) > 0 {
			median, low, high := ratio(l, peer)
			against = fmt.Sprintf("%.2f (%.2f to %.2f)", median, low, high)
		}
		p.table = append(p.table, row(l.name, l.cycle, count(l.rate()), against, ms(quantile(l.latencies, 0.5)),
			ms(quantile(l.latencies, 0.99)), l.spent()))
	}
}

// spent is the processor time of one cycle: clients + server, or one number when both are in one process.
func (l *lane) spent() string {
	here, there := l.perCycle()
	us := func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1e6) }
	if l.server == 0 {
		return us(here) + " us"
	}
	return us(here) + " + " + us(there) + " us"
}

// end returns the page.
func (p *page) end() string {
	var b strings.Builder
	command := "make bench"
	if p.full {
		command = "BENCH_FULL=1 make bench"
	}
	fmt.Fprintf(&b, "# Benchmarks\n\nWritten by `%s`; do not edit. Every figure is of one run on one machine, next "+
		"to its peer in the same run. "+
		"How good decisions are stands [below](#how-good-decisions-are), in [quality.md](quality.md) and in "+
		"[comparison.md](comparison.md), trees in [trees.md](trees.md).\n\n", command)
	fmt.Fprintf(&b, "- machine: %s\n- date: %s, %s long\n- load of the machine: %s at the start, %s at the end\n",
		p.machine,
		p.started.UTC().Format("2006-01-02 15:04 UTC"), time.Since(p.started).Round(time.Second), p.load, host.Load())
	if p.peer != "" {
		fmt.Fprintf(&b, "- peer: %s, `--appendonly yes --appendfsync always`\n", p.peer)
	}
	if p.missing != "" {
		fmt.Fprintf(&b, "- without peer: %s\n", p.missing)
	}
	fmt.Fprintf(&b, "\n%s\n%s\n%s\n", row("what", "goal", "found", "met"), row("---", "---", "---", "---"),
		strings.Join(p.goals, "\n"))
	if len(p.table) > 0 {
		fmt.Fprintf(&b, "\n## The queue beside its peer and its ceilings\n\n%d clients, bodies of %d bytes, %d "+
			"rounds; in each round every lane has its turn of %s, so that a ratio compares\n"+
			"neighbours in time. A client's step is one cycle, of ten messages in batches. Peer, endpoint and empty "+
			"server are each a process\n"+
			"of its own; all share the cores with the clients. Processor time is that of user and system "+
			"together.\n\n%s\n", clients, bodyBytes, rounds, turn, strings.Join(p.table, "\n"))
	}
	if len(p.notes) > 0 {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(p.notes, "\n\n"))
	}
	return b.String()
}

// decisionsOn is the heading of the last part of docs/benchmarks.md, which `make score` writes.
const decisionsOn = "\n## How good decisions are\n"

// decisions returns the last part of the page that stands at path, which is not measured here; none without a page.
func decisions(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("keep what is on the page about decisions: %w", err)
	}
	if _, after, found := strings.Cut(string(text), decisionsOn); found {
		return decisionsOn + after, nil
	}
	return "", nil
}

// row renders a row of a Markdown table.
func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |" }

// count writes a number with separators, as in 12,345.
func count(n float64) string {
	text := strconv.FormatInt(int64(n+0.5), 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// mib renders bytes in MiB.
func mib(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }

// ms renders a duration in milliseconds.
func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }

// processor names the processor of a Linux machine.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	// The first processor names them all.
	_, after, ok := bytes.Cut(text, []byte("model name"))
	if !ok {
		return "unknown processor"
	}
	name, _, _ := bytes.Cut(after, []byte("\n"))
	return strings.TrimSpace(strings.TrimLeft(string(name), "\t :"))
}

// fileSystem names the file system of a directory: the results of the queue depend on what a sync costs there.
func fileSystem(dir string) string {
	out, err := exec.Command("stat", "--file-system", "--format", "%T", dir).Output()
	if err != nil {
		return "an unknown file system"
	}
	switch kind := strings.TrimSpace(string(out)); kind {
	case "ext2/ext3": // they share a number
		return "ext2, ext3 or ext4"
	// A memory file system would make every queue look fast.
	case "tmpfs":
		return "tmpfs, where a sync costs nothing: set TMPDIR to a disk"
	default:
		return kind
	}
}
