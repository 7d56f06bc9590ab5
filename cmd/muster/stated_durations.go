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
	processingNone = "none"
	processingMean = "mean"
)

// knowledgeHelp explains what a policy knows in a simulated run.
const knowledgeHelp = `A policy knows what its configuration states and what was measured, as in production. Without -f the
configuration states neither the mean processing duration nor the boot time. With -f it states the policy.processing and
the workers.boot of the fleet. --processing and --boot-known state more. If no boot time is stated, a policy begins with
1m0s. Other autoscalers whose rule uses the mean processing duration get the stated one or, if none is stated, that of
the trace: an engineer who runs them measures it first.`

// statedDurations is what the configuration of a simulated fleet says about durations. It is separate from the true
// durations of the world: a policy may know less, or be told something wrong, and both are what simulations are about.
type statedDurations struct {
	// processing is none, mean or a duration.
	processing string
	// bootKnown states the true boot time. boot, if above 0, is a stated boot time that may differ from it.
	bootKnown bool
	boot      time.Duration
}

// flags adds --processing and --boot-known.
func (s *statedDurations) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.processing, "processing", processingNone,
		"the mean processing duration that the configuration states: none, mean (that of the trace) or a duration;\n"+
			"with -f, default: the policy.processing of the fleet")
	f.BoolVar(&s.bootKnown, "boot-known", false,
		"the configuration states the true boot time (default: it states workers.boot of -f, or none)")
	cmd.RegisterFlagCompletionFunc("processing", cobra.FixedCompletions([]cobra.Completion{
		cobra.CompletionWithDesc(processingNone, "nothing is stated"),
		cobra.CompletionWithDesc(processingMean, "the mean of the trace is stated"),
	}, cobra.ShellCompDirectiveNoFileComp))
}

// addTo adds the stated durations to the event.
func (s *statedDurations) addTo(e *contest.Event) error {
	e.BootPrior, e.TellBoot = s.boot, s.bootKnown
	switch s.processing {
	case processingNone:
		return nil
	case processingMean:
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

// hint suggests what was probably meant by an invalid --processing; err is why it is no duration, and nil for one that
// is not above 0.
func (s *statedDurations) hint(err error) string {
	if _, number := strconv.ParseFloat(s.processing, 64); err != nil && number == nil {
		return fmt.Sprintf("; say %q for seconds", s.processing+"s")
	}
	if err == nil {
		return fmt.Sprintf("; say %q to state nothing", processingNone)
	}
	if hint := config.Suggest(strings.ToLower(s.processing), []string{processingNone, processingMean}); hint != "" {
		return "; " + hint
	}
	return ""
}
