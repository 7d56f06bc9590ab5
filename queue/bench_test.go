package queue

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// BenchmarkCycle is send, receive and delete of a 1 KiB message by 32
// goroutines, durable unless named otherwise.
func BenchmarkCycle(b *testing.B) {
	for _, ephemeral := range []bool{false, true} {
		name, o := "durable", Options{Dir: b.TempDir()}
		if ephemeral {
			name, o = "ephemeral", Options{Ephemeral: true}
		}
		b.Run(name, func(b *testing.B) {
			s, err := Open(o)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			ctx := b.Context()
			if err := s.CreateQueue(ctx, "q", nil, nil); err != nil {
				b.Fatal(err)
			}
			body := strings.Repeat("x", 1024)
			b.SetParallelism(16) // times two processors
			b.ReportAllocs()
			var cycles atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := s.Send(ctx, "q", []Outgoing{{Body: body}}); err != nil {
						b.Error(err)
						return
					}
					got, err := s.Receive(ctx, "q", ReceiveOptions{})
					if err != nil || len(got) != 1 {
						b.Errorf("received %d messages, error %v", len(got), err)
						return
					}
					if err := s.Delete(ctx, "q", []string{got[0].Receipt})[0]; err != nil {
						b.Error(err)
						return
					}
					cycles.Add(1)
				}
			})
			b.ReportMetric(float64(cycles.Load())/b.Elapsed().Seconds(), "cycles/s")
		})
	}
}

// BenchmarkOpen rebuilds the state from a file of 200,000 messages of 1 KiB.
// It reports time and memory for one message.
func BenchmarkOpen(b *testing.B) {
	const messages, group = 200_000, 10_000
	dir := b.TempDir()
	db, err := storage.OpenSQLite(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now().UnixMilli()
	ops := []machine.Op{{Kind: machine.OpPutQueue, Queue: &machine.QueueRow{ID: 1, Name: "q"}}}
	body := strings.Repeat("x", 1024)
	for seq := range uint64(messages) {
		ops = append(ops, machine.Op{Kind: machine.OpInsert,
			Row: machine.Row{Numbers: machine.Numbers{Seq: seq + 1, Sent: now, Visible: now},
				Queue: 1}, Record: &machine.Record{Body: body}})
		if len(ops) >= group || seq == messages-1 {
			if err := db.Commit(ops); err != nil {
				b.Fatal(err)
			}
			ops = ops[:0]
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		s, err := Open(Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if n, err := s.Counts("q"); err != nil || n.Visible+n.InFlight != messages {
			b.Fatalf("%+v, %v", n, err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/messages, "ns/message")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/messages, "B/message")
}
