package trace

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzRead holds for any bytes read in any format: either a fault with the file's name, or messages that keep the rules
// of a trace and that are the same after they were written and read again. Only the first messages are looked at: nine
// bytes can count a billion of them.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "arrival_s,service_s\n0,1.5\n2,0\n",
		"arrival_s,service_s,class,group,depth\n0,1,\"a,\"\"b\",g,0\n1,1e-3,,,1\n0.1,2,,,2\n3,4,x,y,0\n",
		"; c\n1 10 1 5 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n2 11 1 -1 4 -1 -1 4 -1 -1 5 1 1 1 1 1 -1 -1\n",
		"interval_s,count\n10,2\n10,0\n1,1\n", "start_s,count\n10,2\n20,0\n21,1\n",
		"\xef\xbb\xbfarrival_s,service_s\r\n NaN,1\r\n", "\x1f\x8b\x08\x00",
	} {
		for format := range Formats() {
			f.Add([]byte(seed), uint8(format), false)
			f.Add([]byte(seed), uint8(format), true)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, format uint8, poisson bool) {
		o := Options{Format: Formats()[int(format)%3], Seed: 1, Service: time.Second, ServiceCV: 1}
		if poisson {
			o.Spread = SpreadPoisson
		}
		const most = 5000
		messages, err := firstOf("fuzz", content, o, most)
		if fault, ok := errors.AsType[*Fault](err); err != nil && (!ok || fault.File != "fuzz" || fault.Line < 0) {
			t.Fatalf("found %v of type %T, want a fault of the file", err, err)
		}
		var rules Order
		for i, m := range messages {
			if err := rules.Check(m); err != nil {
				t.Fatalf("message %d was accepted: %v", i+1, err)
			}
		}
		if len(messages) == 0 {
			if err == nil {
				t.Fatal("a trace without messages was accepted")
			}
			return
		}
		again, err := firstOf("written", written(t, messages), Options{Format: CSV}, most+1)
		if diff := cmp.Diff(messages, again); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// firstOf returns the first messages of a file, at most so many.
func firstOf(name string, content []byte, o Options, most int) (messages []Message, err error) {
	r, err := read(name, bytes.NewReader(content), nil, o)
	for err == nil && len(messages) < most {
		var m Message
		if m, err = r.Next(); err == nil {
			messages = append(messages, m)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return messages, err
}

func written(t *testing.T, messages []Message) []byte {
	t.Helper()
	var b bytes.Buffer
	source := Of("messages", messages...)
	c, err := used(source)
	w := &csvWriter{columns: c, out: bufio.NewWriter(&b)}
	if err = errors.Join(err, w.all(source), w.out.Flush()); err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	return b.Bytes()
}

// FuzzSpec holds for any text: either an error, or a trace that keeps the rules and is the same when it is read again.
func FuzzSpec(f *testing.F) {
	for _, s := range Scenarios() {
		f.Add(s.Spec, uint64(1))
	}
	f.Add("spike:rate=0,size=1,every=1s,at=0s,duration=10s", uint64(7))
	f.Add("mmpp:rate=0,to=1e6,quiet=1s,busy=1s,duration=2s", uint64(7))
	f.Fuzz(func(t *testing.T, spec string, seed uint64) {
		g, err := Generate(spec, seed)
		if err != nil {
			return
		}
		const most = 300
		var before []Message
		for range 2 {
			var rules Order
			var messages []Message
			var broken error
			err := g.Each(func(m Message) bool {
				broken = rules.Check(m)
				messages = append(messages, m)
				return broken == nil && len(messages) < most
			})
			if err != nil || broken != nil {
				t.Fatalf("%s with seed %d: %v, %v", spec, seed, err, broken)
			}
			if before != nil && !slices.EqualFunc(before, messages, same) {
				t.Fatalf("%s with seed %d gives other messages the second time", spec, seed)
			}
			before = messages
		}
	})
}

func same(a, b Message) bool {
	return a.Arrival == b.Arrival && a.Service == b.Service && a.Class == b.Class && a.Group == b.Group &&
		slices.EqualFunc(a.Children, b.Children, same)
}

// TestReadingMakesNoGarbage holds that memory does not grow with the lines of a file.
func TestReadingMakesNoGarbage(t *testing.T) {
	line := map[Format][]byte{
		CSV: []byte("12.345,0.678,resize,g1\n"),
		SWF: []byte("7 10 3 5.25 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n"),
	}
	begin := map[Format]string{CSV: "arrival_s,service_s,class,group\n", SWF: "; a log\n"}
	for format, one := range line {
		allocations := func(lines int) float64 {
			content := append([]byte(begin[format]), bytes.Repeat(one, lines)...)
			return testing.AllocsPerRun(3, func() {
				r, err := read("a", bytes.NewReader(content), nil, Options{Format: format})
				n := 0
				for err == nil {
					_, err = r.Next()
					n++
				}
				if err != io.EOF || n != lines+1 {
					t.Errorf("%s: read %d of %d lines: %v", format, n-1, lines, err)
				}
			})
		}
		if few, many := allocations(10), allocations(10_000); many > few+100 {
			t.Errorf("%s: ten lines make %v allocations and ten thousand make %v, want about the same", format, few,
				many)
		}
	}
}

func benchmarkRead(b *testing.B, o Options, begin, line string) {
	const lines = 100_000
	content := append([]byte(begin), bytes.Repeat([]byte(line), lines)...)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		r, err := read("a", bytes.NewReader(content), nil, o)
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*lines/b.Elapsed().Seconds(), "lines/s")
}

func BenchmarkCSV(b *testing.B) {
	benchmarkRead(b, Options{Format: CSV}, "arrival_s,service_s\n", "12345.678,41.371\n")
}

func BenchmarkCSVWithClasses(b *testing.B) {
	benchmarkRead(b, Options{Format: CSV}, "arrival_s,service_s,class,group\n", "12345.678,41.371,resize,customer-17\n")
}

func BenchmarkSWF(b *testing.B) {
	benchmarkRead(b, Options{Format: SWF}, "; a log\n", "7 10 3 5 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n")
}

func BenchmarkCounts(b *testing.B) {
	benchmarkRead(b, Options{Format: Counts, Service: time.Second, ServiceCV: 1, Spread: SpreadPoisson},
		"interval_s,count\n", "1,1\n")
}

func BenchmarkGenerate(b *testing.B) {
	g, err := Generate("poisson:rate=1000,duration=100s", 1)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		if err := g.Each(func(Message) bool { n++; return true }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
}

// TestATraceHasAnEnd holds the largest number of messages, from just below it on.
func TestATraceHasAnEnd(t *testing.T) {
	const lines = "arrival_s,service_s\n0,1\n0,1\n0,1\n"
	csv, err := read("a", bytes.NewReader([]byte(lines)), nil, Options{Format: CSV})
	if err != nil {
		t.Fatal(err)
	}
	csv.(*csvReader).order.count = MaxMessages - 1
	const job = "7 10 3 5 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n"
	swf, err := read("a", bytes.NewReader([]byte(job+job+job)), nil, Options{Format: SWF})
	if err != nil {
		t.Fatal(err)
	}
	swf.(*swfReader).order.count = MaxMessages - 1
	made := &generated{spec: "s", next: func() (Message, bool) { return Message{}, true }, left: 1}
	rules := &Order{count: MaxMessages - 1}
	for name, next := range map[string]func() error{
		"csv":       func() error { _, err := csv.Next(); return err },
		"swf":       func() error { _, err := swf.Next(); return err },
		"generated": func() error { _, err := made.Next(); return err },
		"measured":  func() error { return rules.Check(Message{}) },
	} {
		if err := next(); err != nil {
			t.Errorf("%s: the last message allowed: %v", name, err)
		}
		if err := next(); err == nil || !strings.HasSuffix(err.Error(), tooMany().Error()) {
			t.Errorf("%s: one more: found %v, want %v", name, err, tooMany())
		}
	}
}
