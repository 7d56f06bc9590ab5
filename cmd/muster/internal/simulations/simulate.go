package simulations

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/report"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/tables"
	"github.com/muster-scale/muster/sim/threshold"
)

// NewSimulate makes muster simulate. Exit code 4 means that a threshold is missed, 1 that the run broke a rule, such as
// a lost message. The result is printed in both cases.
func NewSimulate(g *command.Global) *cobra.Command {
	r := &runFlags{g: g}
	var policyName, fleet string
	var seed uint64
	cmd := &cobra.Command{
		Use:   "simulate TRACE",
		Short: "Replay a trace under a policy, in virtual time: what is in time, what it costs",
		Long: `Simulate replays a trace in virtual time, with the controller, policies, roster and worker leases of production.
The same trace, flags and seed give the same bytes.

TRACE is a file, a generator or a scenario, as for muster trace. The policy is one of Muster's or the rule of another
autoscaler; NAME[VALUE] sets its main setting. -f FILE --fleet NAME simulates that fleet: its policy, objective and
limits, and the delays of its kind and its queue.

` + knowledgeHelp + "\n\n" + worldHelp(),
		Example: `  muster simulate requests.csv.gz --policy exact --objective 60s --boot 60s
  muster simulate spikes-300 --policy keda[20] --report keda.html
  muster simulate step -f muster.yaml --fleet thumbnails --threshold 'in_time_ratio>=0.99'
  muster simulate steady-R20 --policy exact --world stale=60s,approximate=0.2,lose-samples=0.3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := r.contender(cmd, policyName, fleet)
			if err != nil {
				return err
			}
			return r.simulate(cmd, args[0], c, seed)
		},
	}
	r.flags(cmd)
	cmd.Flags().StringVar(&policyName, "policy", "", "the policy: "+strings.Join(contest.Names(), ", "))
	cmd.Flags().StringVar(&fleet, "fleet", "",
		"the fleet of the configuration (-f) to simulate")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "the seed of all random draws")
	cmd.RegisterFlagCompletionFunc("policy", completePolicy)
	return cmd
}

// contender returns the policy that the flags select: --policy, or else that of the fleet of -f, or else the default.
// With both, the fleet gives the conditions and --policy the policy. A muster.yaml in this directory counts only when
// -f or --fleet is given.
func (r *runFlags) contender(cmd *cobra.Command, name, fleet string) (contest.Contender, error) {
	// The fleet also sets the conditions, even when --policy replaces its policy.
	if r.g.Config != "" || fleet != "" {
		c, err := r.configuredPolicy(cmd, fleet)
		if err != nil || name == "" {
			return c, err
		}
	}
	if name == "" {
		name = contest.Default
	}
	c, err := contest.Find(name)
	if err != nil {
		return c, command.Usage(fmt.Errorf("--policy: %w", err))
	}
	return c, nil
}

// simulate makes one run and prints the result. Everything that can fail for a wrong flag is checked first, because a
// long trace takes minutes.
func (r *runFlags) simulate(cmd *cobra.Command, name string, c contest.Contender, seed uint64) error {
	limits, err := threshold.OfResults(r.thresholds)
	if err != nil {
		return err
	}
	if err := r.checkFiles(); err != nil {
		return err
	}
	e, err := r.event(cmd, name)
	if err != nil {
		return err
	}
	// Some policies need a stated mean processing duration.
	if err := c.Runnable(e); err != nil {
		return err
	}
	defer collectLess()()
	prepared, err := contest.Prepare(e, seed)
	if err != nil {
		return traceError(err)
	}
	// The bounds come before the run: a trace for which they cannot be computed fails early.
	if !r.noLimit {
		if err := prepared.Limit(); err != nil {
			return err
		}
	}
	// The recorder keeps the curves and decisions for --report and --svg.
	recorder := report.NewRecorder(e.Objective)
	bar := terminal.NewProgress(cmd.ErrOrStderr(), "% of the trace replayed:", 100)
	// The run goes on after the last arrival, so progress stays at 100 % until the last worker has left.
	length := time.Duration(prepared.Statistics.DurationSeconds * float64(time.Second))
	result, err := prepared.Run(cmd.Context(), c, recorder.Stepped, func(at time.Duration) {
		bar.At(int(100 * min(1, at.Seconds()/max(1, length.Seconds()))))
	})
	bar.Done()
	if err != nil {
		return traceError(err)
	}
	runs := []report.Run{recorder.Run(result)}
	if err := r.write(runs, func(w io.Writer) error { return report.SVG(w, runs[0]) }); err != nil {
		return err
	}
	if r.g.JSON() {
		err = command.PrintJSON(cmd.OutOrStdout(), []scoring.Result{result})
	} else {
		tables.Run(cmd.OutOrStdout(), result, prepared, c)
	}
	// It comes last, so that the limits of the model are not overlooked below a long table.
	r.printMissing(cmd.ErrOrStderr())
	return errors.Join(err, contest.Broken([]scoring.Result{result}), threshold.Missed([]scoring.Result{result},
		limits))
}
