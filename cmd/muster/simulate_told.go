package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/sim/contest"
)

// The words that --processing accepts in place of a duration.
const (
	statesNone = "none"
	statesMean = "mean"
)

// toldHelp explains what a policy knows in a simulated run.
const toldHelp = `A policy knows what its configuration states and what was measured, as in production. Without -f the
configuration states neither the mean processing duration nor the boot time; with -f it states the policy.processing and
the workers.boot of the fleet. --processing and --boot-known state more. A policy begins with a boot time of 1m0s where
none is stated. Other autoscalers whose rule has a place for the mean processing duration are told the trace's own,
because an engineer who runs them measures it first; where the configuration states a duration, they are told that.`

// stated is what the configuration of a simulated fleet says about durations.
type stated struct {
	// processing is none, mean or a duration.
	processing string
	// bootKnown states the true boot time. boot, if above 0, is a stated boot time that may differ from it.
	bootKnown bool
	boot      time.Duration
}

func (s *stated) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.processing, "processing", statesNone,
		"what the configuration states of the mean processing duration: none, mean for that of the trace, or a "+
			"duration;\nwith -f by default the policy.processing of the fleet")
	f.BoolVar(&s.bootKnown, "boot-known", false,
		"the configuration states the true boot time; without it that of -f, workers.boot, or none")
	cmd.RegisterFlagCompletionFunc("processing", cobra.FixedCompletions([]cobra.Completion{
		cobra.CompletionWithDesc(statesNone, "nothing is stated"),
		cobra.CompletionWithDesc(statesMean, "the mean of the trace is stated"),
	}, cobra.ShellCompDirectiveNoFileComp))
}

// tell adds the stated durations to the event.
func (s *stated) tell(e *contest.Event) error {
	e.BootPrior, e.TellBoot = s.boot, s.bootKnown
	switch s.processing {
	case statesNone:
		return nil
	case statesMean:
		e.TellMean = true
		return nil
	}
	mean, err := time.ParseDuration(s.processing)
	if err != nil || mean <= 0 {
		return usage(fmt.Errorf("--processing: found %q, allowed is none, mean or a duration above 0s such as 10s%s",
			s.processing, s.hint(err)))
	}
	e.Prior = mean
	return nil
}

// hint suggests what was probably meant by an invalid --processing.
func (s *stated) hint(err error) string {
	if _, number := strconv.ParseFloat(s.processing, 64); err != nil && number == nil {
		return fmt.Sprintf("; say %q for seconds", s.processing+"s")
	}
	if err == nil {
		return fmt.Sprintf("; say %q to state nothing", statesNone)
	}
	if hint := config.Suggest(strings.ToLower(s.processing), []string{statesNone, statesMean}); hint != "" {
		return "; " + hint
	}
	return ""
}
