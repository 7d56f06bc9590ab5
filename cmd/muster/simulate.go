package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/report"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/tables"
	"github.com/muster-scale/muster/sim/threshold"
)

func newSimulate(g *global) *cobra.Command {
	a := &arena{g: g}
	var policyName, fleet string
	var seed uint64
	cmd := &cobra.Command{
		Use:   "simulate TRACE",
		Short: "Replay a trace under a policy: what would have happened?",
		Long: `Simulate replays a trace with the controller, policies, roster and worker leases of production in virtual time. The
same trace, flags and seed give the same bytes. TRACE is a file, a generator or a scenario, as for muster trace. A
policy is one of Muster's or the rule of another autoscaler; NAME[VALUE] sets its main setting. -f FILE --fleet NAME simulates
that fleet: its policy, objective and limits, and the delays of its kind and its queue.

` + toldHelp + "\n\n" + worldHelp(),
		Example: `  muster simulate requests.csv.gz --policy exact --objective 60s --boot 60s
  muster simulate spikes-300 --policy keda[20] --report keda.html
  muster simulate step -f muster.yaml --fleet thumbnails --threshold 'in_time_ratio>=0.99'
  muster simulate steady-R20 --policy exact --world stale=60s,approximate=0.2,lose-samples=0.3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.contender(cmd, policyName, fleet)
			if err != nil {
				return err
			}
			return a.simulate(cmd, args[0], c, seed)
		},
	}
	a.flags(cmd)
	cmd.Flags().StringVar(&policyName, "policy", "", "the policy: "+strings.Join(contest.Names(), ", "))
	cmd.Flags().StringVar(&fleet, "fleet", "",
		"the fleet of the configuration (-f) to simulate")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "the seed of all random draws")
	cmd.RegisterFlagCompletionFunc("policy", completePolicy)
	return cmd
}

// contender returns the policy that the flags select.
func (a *arena) contender(cmd *cobra.Command, name, fleet string) (contest.Contender, error) {
	if a.g.config != "" || fleet != "" {
		c, err := a.configured(cmd, fleet)
		if err != nil || name == "" {
			return c, err
		}
	}
	if name == "" {
		name = contest.Default
	}
	c, err := contest.Find(name)
	if err != nil {
		return c, usage(fmt.Errorf("--policy: %w", err))
	}
	return c, nil
}

// simulate makes one run and prints the result.
func (a *arena) simulate(cmd *cobra.Command, name string, c contest.Contender, seed uint64) error {
	limits, err := threshold.OfResults(a.thresholds)
	if err != nil {
		return err
	}
	if err := a.checkFiles(); err != nil {
		return err
	}
	e, err := a.event(cmd, name)
	if err != nil {
		return err
	}
	if err := c.Runnable(e); err != nil {
		return err
	}
	defer lessCollecting()()
	prepared, err := contest.Prepare(e, seed)
	if err != nil {
		return traceError(err)
	}
	if !a.noLimit {
		if err := prepared.Limit(); err != nil {
			return err
		}
	}
	recorder := report.NewRecorder(e.Objective)
	bar := terminal.NewProgress(cmd.ErrOrStderr(), "% of the trace replayed:", 100)
	length := time.Duration(prepared.Statistics.DurationSeconds * float64(time.Second))
	result, err := prepared.Run(cmd.Context(), c, recorder.Stepped, func(at time.Duration) {
		bar.At(int(100 * min(1, at.Seconds()/max(1, length.Seconds()))))
	})
	bar.Done()
	if err != nil {
		return traceError(err)
	}
	runs := []report.Run{recorder.Run(result)}
	if err := a.write(runs, func(w io.Writer) error { return report.SVG(w, runs[0]) }); err != nil {
		return err
	}
	if a.g.json() {
		err = printJSON(cmd.OutOrStdout(), []scoring.Result{result})
	} else {
		tables.Run(cmd.OutOrStdout(), result, prepared, c)
	}
	a.leftOut(cmd.ErrOrStderr())
	return errors.Join(err, contest.Broken([]scoring.Result{result}), threshold.Missed([]scoring.Result{result},
		limits))
}
