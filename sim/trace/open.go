package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Format is how a trace file is written.
type Format string

// The formats. Each may be packed with gzip.
const (
	// CSV has a header and the columns arrival_s and service_s, in seconds, and perhaps class, group and depth, in any
	// order.
	CSV Format = "csv"
	// SWF is the Standard Workload Format of batch job logs.
	SWF Format = "swf"
	// Counts is CSV with the columns interval_s or start_s, and count; the service comes from [Options].
	Counts Format = "counts"
)

// Formats lists the formats.
func Formats() []Format { return []Format{CSV, SWF, Counts} }

// Spread is where messages arrive within an interval of which only their number is known.
type Spread string

// The ways to spread messages over an interval.
const (
	// SpreadEven puts the same time between any two.
	SpreadEven Spread = "even"
	// SpreadPoisson draws independent times.
	SpreadPoisson Spread = "poisson"
)

// Options say how to read a trace; the zero value finds the format by itself.
type Options struct {
	// Format forces a format; empty finds it by the file's name and first line.
	Format Format
	// Seed is that of everything drawn: generators, and for counts the services and, if asked for, the arrivals.
	Seed uint64
	// Service is the mean service of messages that are only counted, above 0; ServiceCV is the standard deviation over
	// the mean, from 0 (constant) to 10, and lognormal above 0.
	Service   time.Duration
	ServiceCV float64
	// Spread is where messages that are only counted arrive in their interval; empty is [SpreadEven].
	Spread Spread
}

func (o Options) check() error {
	switch {
	case o.Format != "" && !slices.Contains(Formats(), o.Format):
		return fmt.Errorf("found the format %q, allowed are csv, swf and counts%s", o.Format,
			near(string(o.Format), []string{"csv", "swf", "counts"}))
	case o.Spread != "" && o.Spread != SpreadEven && o.Spread != SpreadPoisson:
		return fmt.Errorf("found the spread %q, allowed are even and poisson%s", o.Spread,
			near(string(o.Spread), []string{"even", "poisson"}))
	case o.Service < 0 || o.Service > MaxTime:
		return fmt.Errorf("found the mean service %s, want above 0s and at most ten years", o.Service)
	case !(o.ServiceCV >= 0 && o.ServiceCV <= 10):
		return fmt.Errorf("found the coefficient of variation %v of the service, want 0 to 10", o.ServiceCV)
	}
	return nil
}

// forFiles tells whether options are set that say how to read a file.
func (o Options) forFiles() bool { return o.Format != "" || o.forCounts() }

// forCounts tells whether options are set that only counts need.
func (o Options) forCounts() bool { return o.Service > 0 || o.ServiceCV > 0 || o.Spread != "" }

// Load returns the trace that a person names: a generator with its settings as [Generate] reads it, the name of one of
// [Scenarios], or a file as [Open] reads it. Generators and scenarios come first: a file of such a name is ./NAME.
func Load(text string, o Options) (Trace, error) {
	if err := o.check(); err != nil {
		return Trace{}, err
	}
	name, _, set := strings.Cut(text, ":")
	scenario, isScenario := FindScenario(text)
	_, isGenerator := findGenerator(name)
	switch {
	case (isScenario || isGenerator) && o.forFiles():
		return Trace{}, fmt.Errorf("%s is generated, and options were given that are for files (format, service, "+
			"spread): give it settings, as in poisson:service=10s", name)
	case isScenario:
		return scenario.Trace(o.Seed)
	case isGenerator:
		return Generate(text, o.Seed)
	}
	if _, err := os.Stat(text); err != nil && !strings.ContainsAny(text, `/\`) {
		known := generatorNames()
		if !set {
			known = append(known, scenarioNames()...)
		}
		hint := near(name, known)
		if hint != "" || !strings.Contains(text, ".") { // without a hint, what has a point is a file that is missing
			return Trace{}, fmt.Errorf("there is no file, no generator and no scenario %q%s; generators are %s", name,
				hint, strings.Join(generatorNames(), ", "))
		}
	}
	return Open(text, o)
}

// Open returns the trace in the file at path, after its first message was read. Everything that is wrong with it is a
// [Fault]. The file is read again whenever the trace is; it is an error then if it changed.
func Open(path string, o Options) (Trace, error) {
	if err := o.check(); err != nil {
		return Trace{}, err
	}
	f, first, err := openFile(path)
	if err != nil {
		return Trace{}, err
	}
	defer f.Close()
	if o.Format == "" {
		if o.Format, err = find(path, f); err != nil {
			return Trace{}, err
		}
	}
	if o.Format != Counts && o.forCounts() {
		return Trace{}, &Fault{File: path,
			Problem: fmt.Errorf("found the format %s, which says itself how long the work takes; service and spread "+
				"are for counts", o.Format)}
	}
	t := Trace{Name: filepath.Base(path), Open: func() (Reader, error) {
		f, now, err := openFile(path)
		if err != nil {
			return nil, err
		}
		if !os.SameFile(first, now) || first.Size() != now.Size() || !first.ModTime().Equal(now.ModTime()) {
			f.Close()
			return nil, &Fault{File: path, Problem: errors.New("the file changed since it was first read; start again")}
		}
		r, err := read(path, f, f, o)
		if err != nil {
			f.Close()
			return nil, err
		}
		return r, nil
	}}
	return t, t.Each(func(Message) bool { return false })
}

// find returns the format of a file by its name or its first line.
func find(path string, in io.Reader) (Format, error) {
	if strings.HasSuffix(strings.TrimSuffix(strings.ToLower(path), ".gz"), ".swf") {
		return SWF, nil
	}
	l, err := newLines(path, in, nil)
	if err != nil {
		return "", err
	}
	line, err := l.next()
	if err == io.EOF {
		return "", l.whole(ErrEmpty)
	}
	if err != nil {
		return "", err
	}
	return looksLike(line), nil
}

// looksLike tells which format the first line of a file is of.
func looksLike(line []byte) Format {
	switch {
	case trim(line)[0] == ';' || len(bytes.Fields(line)) == swfFields:
		return SWF
	case slices.Contains(splitNames(line), columnCount):
		return Counts
	}
	return CSV
}

func splitNames(line []byte) []string {
	names := strings.Split(string(line), ",")
	for i, name := range names {
		names[i] = bare(name)
	}
	return names
}

// bare is a column's name without spaces and quotes around it.
func bare(name string) string { return strings.Trim(strings.TrimSpace(name), `"`) }

// read returns a reader of the named content in the format of o.
func read(name string, in io.Reader, closer io.Closer, o Options) (Reader, error) {
	l, err := newLines(name, in, closer)
	if err != nil {
		return nil, err
	}
	switch o.Format {
	case SWF:
		return &swfReader{lines: l}, nil
	case Counts:
		return newCounts(l, o)
	}
	return newCSV(l)
}
