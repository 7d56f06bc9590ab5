// Command bench measures the speed goals of the project against named peers on this machine, and writes what it found,
// met or not, as a page. It needs the muster program that was built before, and ends everything it starts.
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

// bench is one run of all measurements.
type bench struct {
	// muster is the program under measurement, dir a directory that is removed at the end.
	muster string
	dir    string
	full   bool
	lane   string // the lanes of the queue to race; empty means all
	log    io.Writer
	page   page
}

// parts are the measurements, in the order of the page.
var parts = []struct {
	name    string
	measure func(*bench) error
}{
	{"queue", (*bench).queue},
	{"backlog", (*bench).backlog},
	{"start", (*bench).start},
	{"decisions", (*bench).decisions},
	{"idle", (*bench).idle},
	{"trees", (*bench).trees},
	{"treesuite", (*bench).treeSuite},
	{"sim", (*bench).simulator},
}

func run(args []string, out io.Writer) error {
	if len(args) > 0 {
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
	b := &bench{muster: *program, dir: dir, full: *full, lane: *lane, log: os.Stderr}
	b.page.begin(dir, *full)
	for _, p := range parts {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), p.name) {
			continue
		}
		started := time.Now()
		if err := p.measure(b); err != nil {
			return fmt.Errorf("measure %s: %w", p.name, err)
		}
		b.say("%s: done in %s", p.name, time.Since(started).Round(time.Second))
	}
	text := b.page.end()
	if *page == "" {
		_, err := io.WriteString(out, text)
		return err
	}
	kept, err := decisions(*page)
	if err != nil {
		return err
	}
	return os.WriteFile(*page, []byte(text+kept), 0o644)
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.log, format+"\n", args...) }

// profile writes a CPU profile until stop is called.
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

// quantile returns the value below which the share q of the values lies. It sorts them.
func quantile[T cmp.Ordered](values []T, q float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(q*float64(len(values))))]
}
