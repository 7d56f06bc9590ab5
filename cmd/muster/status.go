package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/server"
)

func newStatus(g *global) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the fleets of the running muster up",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.load()
			if err != nil {
				return err
			}
			var s server.Status
			if err := g.get(cmd.Context(), c, "/v1/status", &s); err != nil {
				return err
			}
			if g.json() {
				return printJSON(cmd.OutOrStdout(), s)
			}
			return printStatus(cmd.OutOrStdout(), s)
		},
	}
}

func printStatus(w io.Writer, s server.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FLEET\tBACKLOG\tIN FLIGHT\tOLDEST\tOBJECTIVE\tDESIRED\tIN SERVICE\tBUSY\tPENDING\tDRAINING\tSILENT")
	for _, f := range s.Fleets {
		o, c := f.Observation, f.Observation.Capacity
		members := []string{"?", "?", "?", "?", "?"}
		if f.Ready && c.Known {
			for i, n := range []int{c.InService(), c.Busy, o.Pending(), c.Draining + c.Released, c.Lost} {
				members[i] = strconv.Itoa(n)
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", f.Name, count(o.Backlog()), count(o.InFlight()), age(o.OldestAge()),
			muster.Seconds(o.Objective.Latency.Seconds()), f.Decision.Desired, strings.Join(members, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, f := range s.Fleets {
		fmt.Fprintf(w, "\n%s: %s\n", f.Name, f.Sentence)
		if f.CostPerHour > 0 {
			fmt.Fprintf(w, "  it costs %s an hour\n", muster.Number(f.CostPerHour))
		}
		if line := classesLine(f.Observation); line != "" {
			fmt.Fprintf(w, "  classes: %s\n", line)
		}
		if f.Trouble != "" {
			fmt.Fprintf(w, "  %s\n", f.Trouble)
		}
		if !f.Observation.Capacity.Known && f.Observation.Capacity.Reason != "" {
			fmt.Fprintf(w, "  members: %s\n", f.Observation.Capacity.Reason)
		}
		for _, note := range f.Observation.Notes {
			fmt.Fprintf(w, "  note: %s\n", note)
		}
		printIncidents(w, f, s.At)
		for _, q := range f.Observation.Queues {
			if !q.Backlog.Known {
				fmt.Fprintf(w, "  queue %s: %s\n", q.Queue, q.Backlog)
			}
		}
	}
	if len(s.Fleets) == 0 {
		fmt.Fprintln(w, "muster up runs without fleets: give it a configuration with -f")
	}
	return nil
}

// count and age render what is unknown as a question mark, never as zero.
func count(s muster.Sample) string {
	if !s.Known {
		return "?"
	}
	return muster.Number(s.Value)
}

func age(s muster.Sample) string {
	if !s.Known {
		return "?"
	}
	return muster.Seconds(s.Value)
}
