package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// load is the number of runnable processes over the past minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, ok := strings.Cut(string(text), " ")
	if !ok {
		return "unknown"
	}
	return first
}

// processorTime is what this process has used of the processors; unlike the time on the clock it hardly depends on what
// else the machine does.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// checkedOut returns the commit that is checked out, and whether there are changes beside it; given, when not empty, is
// taken instead.
func checkedOut(ctx context.Context, given string) (commit string, dirty bool, err error) {
	if given != "" {
		return given, false, nil
	}
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", false, fmt.Errorf("ask git for the commit, which the seeds of part h are made from: %w; start it within a clone, or give -commit", err)
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ":/", ":(top,exclude)docs/quality.md").Output()
	if err != nil {
		return "", false, fmt.Errorf("ask git for changes: %w; give -commit", err)
	}
	return strings.TrimSpace(string(out)), len(changes) > 0, nil
}
