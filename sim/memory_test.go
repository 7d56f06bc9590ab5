package sim

import (
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/internal/laws"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// endless is a stream that reads the memory in use as it goes, so that the most of it is known.
type endless struct {
	*laws.Stream
	most uint64
}

func (s *endless) Next() (trace.Message, error) {
	if s.Left%(50_000/slowdown) == 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		s.most = max(s.most, m.HeapAlloc)
	}
	return s.Stream.Next()
}

func TestMemoryDoesNotGrowWithTheTrace(t *testing.T) {
	const gap, mean = 10 * time.Millisecond, 70 * time.Millisecond
	most := func(n int) uint64 {
		s := &endless{Stream: laws.NewStream(5, n, time.Minute, gap, mean, laws.Exponential())}
		tr := trace.Trace{Name: "endless", Open: func() (trace.Reader, error) { return s, nil }}
		ran(t, Options{Settings: standing(t, 10), Trace: tr,
			World: world.World{ControllerCrashes: 2, Crashes: 1, Boot: world.Draw{Mean: time.Second}}})
		if _, err := s.Stream.Next(); err != io.EOF {
			t.Fatalf("the trace was not read to its end: %v", err)
		}
		return s.most
	}
	const n = 100_000 / slowdown
	short, long := most(n), most(10*n)
	if t.Logf("%d kB of heap for %d messages, %d kB for ten times as many", short>>10, n,
		long>>10); long > short+8<<20 {
		t.Errorf("found %d kB of heap for %d messages and %d kB for ten times as many, want 8 MB more at most",
			short>>10, n, long>>10)
	}
}
