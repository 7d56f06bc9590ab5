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

// The formats of trace files. Each may be compressed with gzip.
const (
	// CSV has a header and the columns arrival_s and service_s in seconds, in any order. The columns class, group and
	// depth are optional.
	CSV Format = "csv"
	// SWF is the Standard Workload Format of batch job logs.
	SWF Format = "swf"
	// Counts is CSV with the number of messages in each interval: the columns interval_s or start_s, and count. How
	// long the work takes comes from [Options].
	Counts Format = "counts"
)

// Formats returns all formats.
func Formats() []Format { return []Format{CSV, SWF, Counts} }

// Spread says where messages arrive in an interval of which only their number is known.
type Spread string

// The ways to spread messages over an interval.
const (
	// SpreadEven puts the same time between any two messages.
	SpreadEven Spread = "even"
	// SpreadPoisson draws independent arrivals, as a Poisson process with so many messages would have them.
	SpreadPoisson Spread = "poisson"
)

// Options say how to read or generate a trace. The zero value finds the format of a file by itself.
type Options struct {
	// Format forces a format. When it is empty, the file's name and first line decide.
	Format Format
	// Seed is the seed of everything that is drawn: by generators, and for counts the services and random arrivals.
	Seed uint64
	// Service is the mean service of messages that are only counted; it must be above 0 for Counts and 0 otherwise.
	// ServiceCV is its coefficient of variation, from 0 (constant) to 10; above 0 services are lognormal.
	Service   time.Duration
	ServiceCV float64
	// Spread says where messages that are only counted arrive in their interval; empty is [SpreadEven].
	Spread Spread
}

// check returns an error for options that are impossible by themselves.
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

// forFiles tells whether options are set that only files need.
func (o Options) forFiles() bool { return o.Format != "" || o.forCounts() }

// forCounts tells whether options are set that only counts need.
func (o Options) forCounts() bool { return o.Service > 0 || o.ServiceCV > 0 || o.Spread != "" }

// Load returns the trace that a person names: a generator with its settings as [Generate] reads them, one of the
// [Scenarios], or a file as [Open] reads it. Generators and scenarios win: a file of such a name is given as ./NAME.
// For a name that is none of them the error suggests a similar one.
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
	// A name that is neither a file nor a path is probably a generator or scenario that was misspelt.
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

// Open returns the trace in the file at path, after it has read the first message. Every problem in the file is a
// [Fault]. The file is read again for each reading of the trace; it is an error then if it has changed, because a run
// and its lower bound would belong to different traces.
func Open(path string, o Options) (Trace, error) {
	if err := o.check(); err != nil {
		return Trace{}, err
	}
	f, first, err := openFile(path)
	if err != nil {
		return Trace{}, err
	}
	defer f.Close()
	if o, err = o.settled(path, f); err != nil {
		return Trace{}, err
	}
	t := Trace{Name: filepath.Base(path), Open: func() (Reader, error) {
		f, now, err := openFile(path)
		if err != nil {
			return nil, err
		}
		// Another file under the same name, or new content, would give another trace.
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
	// Reading the first message finds most faults before a long run begins.
	return t, t.Each(func(Message) bool { return false })
}

// Read is [Open] for content that is in memory, such as a file that a browser has read. The name stands for it in
// errors, and its ending may tell the format. The content must not change.
func Read(name string, content []byte, o Options) (Trace, error) {
	err := o.check()
	if err == nil {
		o, err = o.settled(name, bytes.NewReader(content))
	}
	if err != nil {
		return Trace{}, err
	}
	t := Trace{Name: filepath.Base(name), Open: func() (Reader, error) {
		return read(name, bytes.NewReader(content), nil, o)
	}}
	return t, t.Each(func(Message) bool { return false })
}

// settled returns the options with the format of the content in. Options without any effect are refused, because the
// user expects one.
func (o Options) settled(path string, in io.Reader) (Options, error) {
	if o.Format == "" {
		var err error
		if o.Format, err = find(path, in); err != nil {
			return o, err
		}
	}
	if o.Format != Counts && o.forCounts() {
		return o, &Fault{File: path, Problem: fmt.Errorf("found the format %s, which says itself how long the work "+
			"takes; service and spread are for counts", o.Format)}
	}
	return o, nil
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

// looksLike returns the format to which the first line of a file belongs: a comment or 18 fields is SWF, a column named
// count is Counts, and everything else is CSV, whose reader explains what it misses.
func looksLike(line []byte) Format {
	switch {
	// Comments of job logs begin with a semicolon, and a job has a fixed number of fields.
	case trim(line)[0] == ';' || len(bytes.Fields(line)) == swfFields:
		return SWF
	case slices.Contains(splitNames(line), columnCount):
		return Counts
	}
	return CSV
}

// splitNames returns the names of the columns in a header.
func splitNames(line []byte) []string {
	names := strings.Split(string(line), ",")
	for i, name := range names {
		names[i] = bare(name)
	}
	return names
}

// bare returns the name of a column without spaces and quotes around it.
func bare(name string) string { return strings.Trim(strings.TrimSpace(name), `"`) }

// read returns a reader of the named content in the format of o. The reader closes closer, if there is one.
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
