package queueing

import (
	"syscall"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/internal/laws"
)

// processorTime is what this process has used: what else the machine does does not count.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkRun replays an M/M/k queue without controller.
func BenchmarkRun(b *testing.B) {
	const n = 1_000_000
	begin := processorTime(b)
	for b.Loop() {
		o := Options{Trace: laws.Poisson(1, n, 0, 10*time.Millisecond, 120*time.Millisecond, laws.Exponential()),
			Latency: time.Second, Size: FixedSize(16), Max: 16}
		if _, err := Run(o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/(processorTime(b)-begin).Seconds(), "messages/s")
}
