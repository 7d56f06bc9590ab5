// Command bench measures the speed goals of the project on this machine, next to other programs, and writes a page with
// the results, met or not. make bench runs it. It needs a muster program that was built before, and ends everything it
// starts.
//
// Each part (the table parts) measures one goal or a few, in a file of its own:
//
//	queue       cycles per second of the durable queue, next to Redis, a bare log and a bare HTTP server
//	backlog     time and memory to open a queue with millions of messages
//	start       time from a send to the start of the command for it
//	reaction    time from a message to the new desired count, beside an alarm
//	decisions   decisions per second of the pure step, and the memory of a fleet
//	idle        processor time and memory of an idle muster up
//	trees       time of a tree with real worker processes
//	treesuite   figures of the tests about trees
//	sim         messages per second of the simulator, next to SimPy
//
// Three rules make figures comparable on a shared machine. Contestants take turns within seconds of each other, and a
// ratio is taken within one round. Where it is possible, processor time is measured and not the clock. Servers run in
// processes of their own, as those of the other programs do: this program starts itself in a role (the table roles).
//
// Another program that is missing is installed where that is possible, and else its comparison is left out, with the
// reason.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of all measurements. It writes its progress to log and its results to page.
type bench struct {
	// muster is the program under measurement, dir a directory that is removed at the end.
	muster string
	dir    string
	// full asks for the backlog of ten million messages; without it the part extrapolates.
	full bool
	lane string // the lanes of the queue to race; empty means all
	log  io.Writer
	page page
}

// parts are the measurements, in the order of the page.
var parts = []struct {
	name    string
	measure func(*bench) error
}{
	{"queue", (*bench).queue},
	{"backlog", (*bench).backlog},
	{"start", (*bench).start},
	{"reaction", (*bench).reaction},
	{"decisions", (*bench).decisions},
	{"idle", (*bench).idle},
	{"trees", (*bench).trees},
	{"treesuite", (*bench).treeSuite},
	{"sim", (*bench).simulator},
}

func run(args []string, out io.Writer) error {
	if len(args) > 0 {
		// The roles take no flags and write no page.
		if role, ok := roles[args[0]]; ok { // this program started itself
			return role(args[1:], out)
		}
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	program := flags.String("muster", "bin/muster", "the muster program")
	page := flags.String("page", "docs/benchmarks.md", "where the page is written; empty prints it")
	full := flags.Bool("full", false, "open a backlog of ten million messages, which takes minutes and 12 GB of disk")
	only := flags.String("only", "", "measure these parts alone, separated by commas")
	lane := flags.String("lane", "", "of the queue, race only the lanes whose name contains one of these parts, "+
		"separated by commas")
	cpu := flags.String("cpuprofile", "", "write a CPU profile of this process")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *cpu != "" {
		// It shows the clients of the queue and the decisions; servers have variables of their own.
		stop, err := profile(*cpu)
		if err != nil {
			return err
		}
		defer stop()
	}
	dir, err := os.MkdirTemp("", "muster-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// Everything that parts make is below dir, so one removal cleans up.
	b := &bench{muster: *program, dir: dir, full: *full, lane: *lane, log: os.Stderr}
	b.page.begin(dir, *full)
	for _, p := range parts {
		// The page then has those parts alone.
		if *only != "" && !slices.Contains(strings.Split(*only, ","), p.name) {
			continue
		}
		started := time.Now()
		if err := p.measure(b); err != nil {
			return fmt.Errorf("measure %s: %w", p.name, err)
		}
		b.say("%s: done in %s", p.name, time.Since(started).Round(time.Second))
	}
	// A part that failed ended the run above, so a page is complete.
	text := b.page.end()
	if *page == "" {
		_, err := io.WriteString(out, text)
		return err
	}
	// The last part of the page is written by make score and stays.
	kept, err := decisions(*page)
	if err != nil {
		return err
	}
	return os.WriteFile(*page, []byte(text+kept), 0o644)
}

// say writes a line to the log.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.log, format+"\n", args...) }

// profile writes a CPU profile to path until stop is called. Only one profile can run in a process.
func profile(path string) (stop func(), err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		file.Close()
	}, nil
}

// quantile returns the value below which the share q of the values lies. It sorts them. Of no values it returns the
// zero value.
func quantile[T cmp.Ordered](values []T, q float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(q*float64(len(values))))]
}
