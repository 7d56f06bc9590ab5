package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Part idle, and how the processor time and memory of a process are read. Both come from /proc, so this part needs
// Linux.

// idleFor is how long an idle muster up is watched.
const idleFor = 20 * time.Second

// idle measures what muster up costs while nothing happens: one queue, one fleet without workers.
func (b *bench) idle() error {
	dir := filepath.Join(b.dir, "idle")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	// The command never runs: no message is sent.
	u, err := b.up(dir, 1, "    workers: {command: [\"true\"]}\n")
	if err != nil {
		return err
	}
	var resident int64
	var share float64
	// A function, so that muster up is ended after any error.
	measure := func() error {
		time.Sleep(3 * time.Second) // what the start brought along
		before, err := processorTime(u.cmd.Process.Pid)
		if err != nil {
			return err
		}
		begin := time.Now()
		time.Sleep(idleFor)
		after, err := processorTime(u.cmd.Process.Pid)
		if err != nil {
			return err
		}
		share = float64(after-before) / float64(time.Since(begin))
		resident, _, err = memory(u.cmd.Process.Pid)
		return err
	}
	if err := joinEnd(measure(), u); err != nil {
		return err
	}
	b.page.goal("muster up idle, with one queue and one fleet: resident memory", "<= 40 MB",
		fmt.Sprintf("%.1f MB after %s", float64(resident)/1e6, idleFor), resident <= 40e6,
		"most of it is the program itself, the pages of it that were run.")
	b.page.goal("muster up idle: processor", "< 0.5 % of one core", fmt.Sprintf("%.2f %% over %s", share*100, idleFor),
		share < 0.005,
		"the queue and the fleet are polled every second.")
	return nil
}

// processorTime is the processor time of all threads of a process so far. The scheduler's own figures are exact to
// nanoseconds; those of /proc/PID/stat count in ticks of 10 ms.
func processorTime(pid int) (total time.Duration, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("read the processor time of process %d: found no /proc/%d/task; Linux is needed", pid, pid)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", path, err)
		}
		total += time.Duration(ns)
	}
	return total, nil
}

// memory returns the resident memory of a process now, and its peak, in bytes.
func memory(pid int) (resident, peak int64, err error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			resident = kb << 10
		case "VmHWM":
			peak = kb << 10
		}
	}
	if resident == 0 || peak == 0 {
		return 0, 0, fmt.Errorf("read the memory of process %d: found no VmRSS and VmHWM in its status", pid)
	}
	return resident, peak, nil
}
