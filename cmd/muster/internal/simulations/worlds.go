package simulations

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/threshold"
	"github.com/muster-scale/muster/sim/tournament"
	"github.com/muster-scale/muster/sim/worlds"
)

// mostWorlds bounds the numbers of one range.
const mostWorlds = 100_000

// worldsCommand is muster worlds with its flags. o has the flags that package tournament takes as they are.
type worldsCommand struct {
	g *command.Global
	// numbers is the text of --numbers, messages that of --messages. list prints worlds and simulates nothing. named
	// takes the named worlds instead of drawn ones.
	numbers     string
	messages    string
	policies    []string
	list, named bool
	// thresholds are limits of the summary, for the first policy.
	thresholds []string
	o          tournament.Options
}

// NewWorlds makes muster worlds. The first policy is judged by the others: --threshold is about it alone, and exit code
// 4 says that it missed a limit.
func NewWorlds(g *command.Global) *cobra.Command {
	x := &worldsCommand{g: g}
	cmd := &cobra.Command{
		Use:   "worlds [--numbers 1-20] [--policies A,B,...]",
		Short: "Simulate policies in worlds that are drawn at random",
		Long: `Worlds draws worlds at random and simulates policies in them. A world decides how messages arrive, how long work and
boots take, how tight the objective is, what fails, what is measured late and what the configuration states. The first
policy is judged by comparison with the others. It regrets a world in which the loss of another policy is a tenth
smaller than its own.

The number of a world decides everything in it: the same number gives the same world, and the same result on the same
processor architecture. These quantities are drawn, each independently:

` + quantityHelp() + `

docs/simulation.md describes them in full. --named plays the worlds in which an autoscaler once failed badly, and ends
with exit code 4 if the first policy misses a limit of such a world.`,
		Example: `  muster worlds --list --numbers 1-40
  muster worlds --numbers 1-200 --policies deadline,keda-job,exact --threshold 'regret_free>=0.97'
  muster worlds --numbers 1-400 --messages 1000-9000 --policies deadline,aws-static,keda-job
  muster worlds --numbers 17 --limit -o json
  muster worlds --named --policies deadline`,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&x.numbers, "numbers", "1-20", "the numbers of the worlds, as 1-20 or 3,17,40-50")
	f.StringVar(&x.messages, "messages", "", "play only those of the worlds that have about so many messages, as "+
		"1000-9000: small ones take seconds, and the largest minutes")
	f.StringSliceVar(&x.policies, "policies", []string{contest.Default, worlds.Reference, "keda-job", "exact"},
		"the policies, beginning with the one that is judged; there are "+strings.Join(contest.Names(), ", "))
	f.BoolVar(&x.list, "list", false, "print a line for each world and simulate nothing")
	f.BoolVar(&x.named, "named", false, "simulate the named worlds, and judge the first policy by their limits")
	f.BoolVar(&x.o.Limit, "limit", false, "compute the lower bound of the cost in each world, which takes seconds "+
		"per "+
		"world")
	f.DurationVar(
		&x.o.Timeout,
		"timeout",
		time.Minute,
		"how long one run may take on this machine; a longer one counts as not answered",
	)
	f.IntVar(&x.o.Parallel, "parallel", runtime.NumCPU(), "how many runs at a time; the results do not depend on it")
	f.StringArrayVar(
		&x.thresholds,
		"threshold",
		nil,
		"end with exit code 4 if the summary misses this limit, as in 'regret_free>=0.97'; may be repeated",
	)
	cmd.RegisterFlagCompletionFunc("policies", completePolicy)
	return cmd
}

// quantityHelp describes the drawn quantities, in lines of at most 120 columns. They come from package worlds, so that
// the help cannot differ from the draws.
func quantityHelp() string {
	const indent, width = "             ", 120
	var lines []string
	for _, q := range worlds.Quantities() {
		line := fmt.Sprintf("  %-10s", q.Name)
		for _, word := range strings.Fields(q.Distribution) {
			if len(line)+1+len(word) > width {
				lines, line = append(lines, line), indent+word
				continue
			}
			line += " " + word
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// run checks the flags, then lists the worlds, plays the named ones or plays the drawn ones. The numbers are sorted and
// made unique, so that results and their order do not depend on how they were written.
func (x *worldsCommand) run(cmd *cobra.Command) error {
	names, numbers := tournament.SummaryFields()
	thresholds, err := threshold.Parse(x.thresholds, numbers, "regret_free>=0.97",
		"those of the summary of -o json with numbers, as "+strings.Join(names, ", "))
	if err != nil {
		return err
	}
	drawn, err := numberRanges("--numbers", x.numbers, mostWorlds)
	if err != nil {
		return command.Usage(err)
	}
	contenders, err := x.contenders()
	if err != nil {
		return command.Usage(err)
	}
	// 1-3,2 plays each world once.
	slices.Sort(drawn)
	drawn = slices.Compact(drawn)
	if !x.named {
		if drawn, err = withMessages(drawn, x.messages); err != nil {
			return command.Usage(err)
		}
	}
	out := cmd.OutOrStdout()
	switch {
	case x.o.Timeout <= 0:
		return command.Usage(fmt.Errorf("--timeout: found %s, allowed is above 0s", x.o.Timeout))
	case x.o.Parallel < 1 || x.o.Parallel > 256:
		return command.Usage(fmt.Errorf("--parallel: found %d, allowed is 1 to 256", x.o.Parallel))
	case x.named && x.messages != "":
		return command.Usage(errors.New("--messages: all named worlds are played; give it without --named"))
	case x.named && cmd.Flags().Changed("numbers"):
		return command.Usage(errors.New("--numbers: the named worlds have no numbers; give it without --named"))
	case x.named && len(thresholds) > 0:
		return command.Usage(errors.New(
			"--threshold: the named worlds have limits of their own; give it without --named"))
	// Listing needs neither policies nor time; it comes after the checks, so that wrong flags fail in any case.
	case x.list:
		return x.print(out, drawn)
	}
	// Results do not depend on the collector, only the time they take.
	defer collectLess()()
	x.o.Progress = cmd.ErrOrStderr()
	if x.named {
		found, err := tournament.PlayNamed(cmd.Context(), x.o, contenders)
		if err != nil {
			return err
		}
		if x.g.JSON() {
			err = command.PrintJSON(out, tournament.Played(found))
		} else {
			err = tournament.PrintNamed(out, found)
		}
		return errors.Join(err, tournament.NamedVerdict(found))
	}
	found, err := tournament.PlayDrawn(cmd.Context(), x.o, drawn, contenders)
	if err != nil {
		return err
	}
	if x.g.JSON() {
		err = command.PrintJSON(out, found.Report())
	} else {
		err = found.Print(out)
	}
	return errors.Join(err, found.Verdict(thresholds))
}

// withMessages returns those of the worlds that have about so many messages, from and to, as in 1000-9000; all for an
// empty text.
func withMessages(numbers []uint64, text string) ([]uint64, error) {
	if text == "" {
		return numbers, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	least, wrong := strconv.Atoi(first)
	most, wrongToo := strconv.Atoi(last)
	if !isRange || wrong != nil || wrongToo != nil || least < 0 || least > most {
		return nil, fmt.Errorf("--messages: found %q, write the least and the greatest number, as 1000-9000", text)
	}
	fitting := slices.DeleteFunc(slices.Clone(numbers), func(n uint64) bool {
		messages := worlds.Draw(n).Messages
		return messages < least || messages > most
	})
	if len(fitting) == 0 {
		return nil, fmt.Errorf("--messages: of %s none has %d to %d messages; give more by --numbers",
			render.Plural(len(numbers), "world"), least, most)
	}
	return fitting, nil
}

// print prints a line for each world, drawn or named.
func (x *worldsCommand) print(out io.Writer, numbers []uint64) error {
	switch {
	case x.named && x.g.JSON():
		return command.PrintJSON(out, tournament.NamedWorlds())
	case x.named:
		return tournament.PrintNamedWorlds(out, tournament.NamedWorlds())
	case x.g.JSON():
		return command.PrintJSON(out, tournament.Worlds(numbers))
	}
	return tournament.PrintWorlds(out, tournament.Worlds(numbers))
}

// contenders returns the policies that the flag names, each once. A policy that needs a stated mean is refused: in four
// worlds of ten none is stated, and a judgement over the others would not be the same.
func (x *worldsCommand) contenders() ([]contest.Contender, error) {
	var all []contest.Contender
	for _, name := range x.policies {
		c, err := contest.Find(strings.TrimSpace(name))
		switch {
		case err != nil:
			return nil, fmt.Errorf("--policies: %w", err)
		// It could not run in these worlds.
		case c.NeedsMean():
			return nil, fmt.Errorf(
				"--policies: %s needs the mean processing duration, and four worlds of ten state none",
				c.Name,
			)
		case slices.ContainsFunc(all, func(o contest.Contender) bool { return o.Name == c.Name }):
			return nil, fmt.Errorf("--policies: found %s twice", c.Name)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("--policies: found none, name at least one")
	}
	return all, nil
}
