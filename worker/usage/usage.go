package usage

import (
	"context"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

// Meter adds up what the work of one call used. Several goroutines may use it.
type Meter struct {
	mu  sync.Mutex
	sum protocol.Usage
}

// key is the key of the Meter in a context.
type key struct{}

// Watch returns a context whose work adds to the meter.
func Watch(ctx context.Context) (context.Context, *Meter) {
	m := &Meter{}
	return context.WithValue(ctx, key{}, m), m
}

// Add adds a usage to the meter of ctx, if there is one. An invalid usage, and one without calls, is left out.
func Add(ctx context.Context, u protocol.Usage) {
	m, ok := ctx.Value(key{}).(*Meter)
	if !ok || !u.Valid() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum = protocol.MergeUsage(m.sum, u)
}

// Sum returns a copy of what was added; nil if nothing was.
func (m *Meter) Sum() *protocol.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sum.Calls == 0 {
		return nil
	}
	sum := m.sum
	return &sum
}

// Ended returns the usage of a process that has ended, with the children that it waited for. took is how long it ran.
// On Linux the memory is at least that of the process that started it, because the kernel counts the time before exec.
func Ended(p *os.ProcessState, took time.Duration) protocol.Usage {
	if p == nil {
		return protocol.Usage{}
	}
	u := own(took)
	u.CPUSeconds = (p.UserTime() + p.SystemTime()).Seconds()
	if r, ok := p.SysUsage().(*syscall.Rusage); ok {
		unit := int64(1 << 10) // Linux counts in KiB
		if runtime.GOOS == "darwin" {
			unit = 1
		}
		u.PeakBytes = max(0, int64(r.Maxrss)*unit)
	}
	return u
}

// own returns the usage of one call that took so long, without what it used.
func own(took time.Duration) protocol.Usage {
	cores, memory := Machine()
	return protocol.Usage{Calls: 1, WallSeconds: max(0, took.Seconds()), Cores: cores, MemoryBytes: memory}
}

// readEvery is the shortest time between two readings of a running process: short calls share one.
const readEvery = 100 * time.Millisecond

// Process measures a running process that makes one call after the other. Only one goroutine may use it. The zero value
// measures nothing.
type Process struct {
	pid int
	// cpu is the processor time at the last reading, readAt the instant of it.
	cpu    time.Duration
	readAt time.Time
	// calls and wall are those since the last reading.
	calls int64
	wall  time.Duration
}

// NewProcess begins to measure the process with the given number, which runs.
func NewProcess(pid int) Process {
	p := Process{pid: pid}
	cpu, _, ok := read(pid)
	if !ok {
		return Process{}
	}
	p.cpu, p.readAt = cpu, time.Now()
	return p
}

// Called says that a call ended that took so long, and returns the usage since the last reading; one without calls if
// it is not time for the next reading, or if the process cannot be read.
func (p *Process) Called(took time.Duration) protocol.Usage {
	if p.pid == 0 {
		return protocol.Usage{}
	}
	p.calls, p.wall = p.calls+1, p.wall+took
	now := time.Now()
	if now.Sub(p.readAt) < readEvery {
		return protocol.Usage{}
	}
	cpu, peak, ok := read(p.pid)
	if !ok || cpu < p.cpu {
		*p = Process{}
		return protocol.Usage{}
	}
	u := own(p.wall)
	u.Calls, u.CPUSeconds, u.PeakBytes = p.calls, (cpu - p.cpu).Seconds(), peak
	p.cpu, p.readAt, p.calls, p.wall = cpu, now, 0, 0
	return u
}
