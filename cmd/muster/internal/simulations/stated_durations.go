package simulations

import (
	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/simulation"
)

// knowledgeHelp explains what a policy knows in a simulated run.
const knowledgeHelp = `A policy knows what its configuration states and what was measured, as in production. Without -f
the configuration states neither the mean processing duration nor the boot time. With -f it states the
policy.processing and the workers.boot of the fleet. --processing and --boot-known state more. If no boot time is
stated, a policy begins with 1m0s. Other autoscalers whose rule uses the mean processing duration get the stated one
or, if none is stated, that of the trace: an engineer who runs them measures it first.`

// addDurationFlags adds --processing and --boot-known.
func addDurationFlags(cmd *cobra.Command, d *simulation.Durations) {
	f := cmd.Flags()
	f.StringVar(&d.Processing, "processing", simulation.None,
		"the mean processing duration that the configuration states: none, mean (that of the trace) or a duration;\n"+
			"with -f, default: the policy.processing of the fleet")
	f.BoolVar(&d.BootKnown, "boot-known", false,
		"the configuration states the true boot time (default: it states workers.boot of -f, or none)")
	cmd.RegisterFlagCompletionFunc("processing", cobra.FixedCompletions([]cobra.Completion{
		cobra.CompletionWithDesc(simulation.None, "nothing is stated"),
		cobra.CompletionWithDesc(simulation.Mean, "the mean of the trace is stated"),
	}, cobra.ShellCompDirectiveNoFileComp))
}
