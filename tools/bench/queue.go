package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-scale/muster/queue"
)

// Part queue. A cycle is the life of one message: sent, received, deleted, each of them durable before it is
// acknowledged. So the numbers are about syncs and system calls, and compare only on the same disk; the page names the
// file system.

// queueName is the name of the queue, and of the fleet, in every part.
const queueName = "jobs"

// queue compares the durable queue with Redis, in process and behind its endpoint. Two more lanes show what the machine
// allows at most: a bare log with a sync for each group of records, and a net/http server that answers nothing.
func (b *bench) queue() (err error) {
	redis, version, err := startRedis(b.dir)
	// The other lanes are measured without Redis; the goals say what is missing.
	if errors.Is(err, errNoPeer) {
		b.page.missing = err.Error()
		err = nil
	}
	if err != nil {
		return err
	}
	// Lanes are closed in any case, also when a later one could not be opened.
	var lanes []*lane
	defer func() {
		for _, l := range lanes {
			err = errors.Join(err, l.close())
		}
	}()
	if redis != nil {
		b.page.peer = version
		lanes = append(lanes, redis)
	}
	process, batch, single, err := b.ours(&lanes)
	if err != nil {
		return err
	}
	disk, err := diskLane(b.dir)
	if err != nil {
		return err
	}
	lanes = append(lanes, disk)
	empty, err := emptyLane()
	if err != nil {
		return err
	}
	lanes = append(lanes, empty)
	if err := race(b.chosen(lanes)); err != nil {
		return err
	}
	b.page.lanes(b.chosen(lanes), redis)
	if b.lane != "" {
		return nil // a lane alone meets no goal
	}
	// The reasons of missed goals compare the time of a step.
	p50 := func(l *lane) time.Duration { return quantile(l.latencies, 0.5) }
	b.page.against(process, redis, 3,
		fmt.Sprintf("a cycle takes %s where a bare append with its sync takes %s (medians): it waits for two commits "+
			"of its own, each behind the one under way.", ms(p50(process)), ms(p50(disk))))
	b.page.against(batch, redis, 3,
		fmt.Sprintf("a cycle takes %s of processor time, clients + endpoint, and both share %d cores with the disk's "+
			"and the network's part of the system.", batch.spent(), runtime.NumCPU()))
	b.page.against(single, redis, 1,
		fmt.Sprintf("a cycle is three requests, each with its own read and write at both ends; together they take %s "+
			"of processor time, clients + endpoint, on %d cores.", single.spent(), runtime.NumCPU()))
	return nil
}

// chosen returns the lanes that -lane selects; all by default.
func (b *bench) chosen(lanes []*lane) []*lane {
	return slices.DeleteFunc(slices.Clone(lanes), func(l *lane) bool {
		return !slices.ContainsFunc(strings.Split(b.lane, ","),
			func(part string) bool { return strings.Contains(l.name, part) })
	})
}

// ours opens the lanes of Muster's queue: in process, through the endpoint in batches of ten, and through it one
// message at a time. The last two share one endpoint, and take turns.
func (b *bench) ours(lanes *[]*lane) (process, batch, single *lane, err error) {
	if process, err = processLane(filepath.Join(b.dir, "process")); err != nil {
		return nil, nil, nil, err
	}
	*lanes = append(*lanes, process)
	server, err := b.endpoint()
	if err != nil {
		return nil, nil, nil, err
	}
	batch = &lane{name: "muster, SQS endpoint, batches of ten", cycle: "SendMessageBatch + ReceiveMessage + " +
		"DeleteMessageBatch", close: server.end, server: server.cmd.Process.Pid}
	single = &lane{name: "muster, SQS endpoint, one at a time", cycle: "SendMessage + ReceiveMessage + DeleteMessage",
		close: func() error { return nil }, server: batch.server}
	*lanes = append(*lanes, batch, single)
	url := "http://" + server.says + "/000000000000/" + queueName
	for range clients {
		w, err := dialWire(server.says)
		if err != nil {
			return nil, nil, nil, err
		}
		batch.steps = append(batch.steps, inBatches(w, url))
		single.steps = append(single.steps, oneByOne(w, url))
	}
	return process, batch, single, nil
}

// endpoint starts the SQS endpoint in a process of its own, with an empty queue.
func (b *bench) endpoint() (*child, error) {
	dir := filepath.Join(b.dir, "endpoint")
	s, err := newQueue(dir)
	if err != nil {
		return nil, err
	}
	// The server opens the directory itself, so that its start is that of a user.
	if err := s.Close(); err != nil {
		return nil, err
	}
	return startRole("serve-sqs", dir)
}

// newQueue opens a directory with one empty queue.
func newQueue(dir string) (*queue.Service, error) {
	s, err := queue.Open(queue.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	return s, s.CreateQueue(context.Background(), queueName, nil, nil)
}

// processLane is the durable queue used as a library. Each client sends, receives and deletes one message in a cycle;
// with 32 clients the writer commits several operations together.
func processLane(dir string) (*lane, error) {
	s, err := newQueue(dir)
	if err != nil {
		return nil, err
	}
	l := &lane{name: "muster, in process", cycle: "Send + Receive + Delete", close: s.Close}
	message := []queue.Outgoing{{Body: strings.Repeat("x", bodyBytes)}}
	ctx := context.Background()
	for range clients {
		l.steps = append(l.steps, func() (int, error) {
			// Each of the three calls returns after its commit, except a first receive.
			if sent, err := s.Send(ctx, queueName, message); err != nil || sent[0].Err != nil {
				return 0, errors.Join(err, sent[0].Err)
			}
			got, err := s.Receive(ctx, queueName, queue.ReceiveOptions{})
			if err != nil {
				return 0, err
			}
			if len(got) != 1 {
				return 0, fmt.Errorf("received %d messages, want 1", len(got))
			}
			return 1, s.Delete(ctx, queueName, []string{got[0].Receipt})[0]
		})
	}
	return l, nil
}

// emptyLane posts small requests to the role serve-empty.
func emptyLane() (*lane, error) {
	server, err := startRole("serve-empty")
	if err != nil {
		return nil, err
	}
	l := &lane{name: "net/http, empty answer", cycle: "one request of 600 bytes", close: server.end,
		server: server.cmd.Process.Pid}
	body := strings.Repeat("x", 600)
	for range clients {
		w, err := dialWire(server.says)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.steps = append(l.steps, func() (int, error) {
			_, err := w.post("Nothing", body)
			return 1, err
		})
	}
	return l, nil
}

// diskLane appends records to a file, with one sync for all records that wait at that time. No log can be faster on
// this disk.
func diskLane(dir string) (*lane, error) {
	file, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	log := &groupLog{file: file, waiting: make(chan chan error, clients)}
	log.writer.Go(log.run)
	l := &lane{name: "append + sync in groups, by hand", cycle: "one durable record of 512 bytes", close: func() error {
		close(log.waiting)
		log.writer.Wait()
		return file.Close()
	}}
	for range clients {
		// One channel for each client, used again and again.
		answer := make(chan error, 1)
		l.steps = append(l.steps, func() (int, error) {
			log.waiting <- answer
			return 1, <-answer
		})
	}
	return l, nil
}

// groupLog is the log of diskLane. One goroutine writes; clients wait for their answers.
type groupLog struct {
	file    *os.File
	waiting chan chan error
	writer  sync.WaitGroup
}

// logBytes is where the log starts again from its beginning, as SQLite's does.
const logBytes = 16 << 20

// run writes the waiting records in groups until waiting is closed. The records that arrive during a sync form the next
// group.
func (g *groupLog) run() {
	record := make([]byte, bodyBytes)
	var group []chan error
	var at int64
	for first := range g.waiting {
		group = append(group[:0], first)
		// Whoever waits now goes into this group; later ones go into the next.
		for len(g.waiting) > 0 {
			group = append(group, <-g.waiting)
		}
		buffer := make([]byte, 0, len(group)*len(record))
		for range group {
			buffer = append(buffer, record...)
		}
		// The file is overwritten from its start, so that its size does not grow and a sync needs no new metadata.
		if at+int64(len(buffer)) > logBytes {
			at = 0
		}
		_, err := g.file.WriteAt(buffer, at)
		if err == nil {
			err = syncContents(g.file)
		}
		at += int64(len(buffer))
		for _, answer := range group {
			answer <- err
		}
	}
}
