// Command democheck reads the output of muster demo -o json from standard input and checks the promises of the demo. It
// fails unless all six runs are there, every message was processed exactly once, and every message was in time under
// the policies exact and deadline. .ci/run runs it.
//
// It shares no code with the demo, on purpose: the demo checks itself too, and a fault in that check would hide here.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := check(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "democheck:", err)
		os.Exit(1)
	}
}

// run is one test under one policy. The fields are pointers, so that a missing field is not read as zero.
type run struct {
	Name          *string  `json:"name"`
	Policy        *string  `json:"policy"`
	Messages      *int     `json:"messages"`
	Processed     *int     `json:"processed"`
	InTime        *int     `json:"in_time"`
	InTimeRatio   *float64 `json:"in_time_ratio"`
	Twice         *int     `json:"processed_twice"`
	Seconds       *float64 `json:"seconds"`
	PeakWorkers   *int     `json:"peak_workers"`
	WorkerSeconds *float64 `json:"worker_seconds"`
	Decisions     *int     `json:"decisions"`
}

// check reads the results, prints a line for each run, and returns the first broken promise.
func check(in io.Reader, out io.Writer) error {
	var demo struct {
		Tests []run `json:"tests"`
	}
	d := json.NewDecoder(in)
	if err := d.Decode(&demo); err != nil {
		return fmt.Errorf("standard output is not JSON: %w", err)
	}
	// Progress on standard output would break programs that read the JSON.
	if d.More() {
		return fmt.Errorf("standard output holds more than one JSON value")
	}
	seen := map[string]bool{}
	for i, r := range demo.Tests {
		if r.Name == nil || r.Policy == nil || r.Messages == nil || r.Processed == nil || r.InTime == nil ||
			r.InTimeRatio == nil ||
			r.Twice == nil || r.Seconds == nil || r.PeakWorkers == nil || r.WorkerSeconds == nil || r.Decisions == nil {
			return fmt.Errorf("run %d lacks a field: %+v", i, r)
		}
		if *r.Messages != 50 || *r.Processed != 50 || *r.Twice != 0 {
			return fmt.Errorf("%s under %s: %d of %d messages processed, %d twice; want 50 of 50, none twice", *r.Name,
				*r.Policy, *r.Processed, *r.Messages, *r.Twice)
		}
		// dynamic-backlog is there to compare with and may be late.
		if *r.Policy != "dynamic-backlog" && *r.InTime != 50 {
			return fmt.Errorf("%s under %s: %d of 50 in time", *r.Name, *r.Policy, *r.InTime)
		}
		// A run without workers or decisions did not happen.
		if *r.PeakWorkers < 1 || *r.Decisions < 1 || *r.WorkerSeconds <= 0 || *r.Seconds <= 0 {
			return fmt.Errorf("%s under %s: figures that cannot be: %d workers, %d decisions, %v worker-seconds, %v s",
				*r.Name, *r.Policy,
				*r.PeakWorkers, *r.Decisions, *r.WorkerSeconds, *r.Seconds)
		}
		seen[*r.Name+" "+*r.Policy] = true
		fmt.Fprintf(out, "%s %-16s in time %3.0f%%  %5.1f s  peak %2d  %4.0f worker-seconds\n", *r.Name, *r.Policy,
			100**r.InTimeRatio, *r.Seconds, *r.PeakWorkers, *r.WorkerSeconds)
	}
	// Runs that are missing would pass all checks above.
	for _, want := range []string{"test-1 exact", "test-2 exact", "test-1 deadline", "test-2 deadline",
		"test-1 dynamic-backlog", "test-2 dynamic-backlog"} {
		if !seen[want] {
			return fmt.Errorf("there is no run %q", want)
		}
	}
	return nil
}
