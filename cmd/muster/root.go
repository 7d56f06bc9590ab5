package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/cmd/muster/internal/operations"
	"github.com/muster-scale/muster/cmd/muster/internal/queues"
	"github.com/muster-scale/muster/cmd/muster/internal/simulations"
	"github.com/muster-scale/muster/cmd/muster/internal/trees"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kinds"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands are all commands; the help sorts them by name. Each row repeats the name, so that [neededCommands] need not
// make a command to know it; a test compares the names.
//
// Commands that act on a running fleet, such as muster pause, have no group of subcommands: they are typed in a hurry.
func commands() []entry {
	return []entry{
		{"up", newUp},
		{"demo", newDemo},
		{"work", newWork},
		{"send", newSend},
		{"check", newCheck},
		{"plan", newPlan},
		{"explain", newExplain},
		{"advise", newAdvise},
		{"status", newStatus},
		{"top", newTop},
		{"replay", newReplay},
		{"dashboard", newDashboard},
		{"incidents", newIncidents},
		{"notify", newNotify},
		{"logs", newLogs},
		{"queue", queues.New},
		{"tree", trees.New},
		{"trace", simulations.NewTrace},
		{"iam", newIAM},
		{"template", templateCommand},
		{"schema", newSchema},
		{"simulate", simulations.NewSimulate},
		{"compare", simulations.NewCompare},
		{"worlds", simulations.NewWorlds},
		{"import", simulations.NewImport},
		{"version", newVersion},
		{"init", newInit},
		{"env", newEnv},
		{"sleep-body", newSleepBody},
		{"validate", newValidate},
		{"publish", newPublish},
		{"doctor", newDoctor},
		{"reserve", operations.NewReserve},
		{"pause", operations.NewPause},
		{"resume", operations.NewResume},
		{"limits", operations.NewLimits},
		{"hold", operations.NewHold},
		{"release", operations.NewRelease},
		{"overrides", operations.NewOverrides},
		{"guard", operations.NewGuard},
	}
}

// entry is a command that is not made yet, and its name.
type entry struct {
	name string
	make func(*command.Global) *cobra.Command
}

// neededCommands returns the command that the arguments begin with. If they begin with something else, as for help and
// completion, it returns all commands. Making all of them takes longer than many a command runs.
func neededCommands(args []string) []entry {
	all := commands()
	for _, c := range all {
		if len(args) > 0 && args[0] == c.name {
			return []entry{c}
		}
	}
	return all
}

// newRoot returns muster with the commands that the arguments need. It decides what all commands share: -f and -o, the
// check of -o, and usage errors in one form. cobra prints neither errors nor the usage text: [command.PrintFailure]
// does, once, and a page of flags would hide the error.
func newRoot(args []string) *cobra.Command {
	g := &command.Global{}
	root := &cobra.Command{
		Use:   "muster",
		Short: "Muster keeps the right number of workers on every queue",
		Long: `Muster keeps the right number of workers on every queue. It watches a queue, decides how many
workers are needed so that messages finish inside the latency objective, and sizes the fleet.

  muster demo     watch Muster size workers for two test loads, in under a minute
  muster up       run a queue, a controller and fleets of workers on this machine
  muster work     handle the messages of a queue with any command

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 plan has changes, 4 a threshold is missed.`,
		SilenceUsage: true, SilenceErrors: true,
		SuggestionsMinimumDistance: 2,
	}
	root.PersistentFlags().StringVarP(&g.Config, "file", "f", "", "the configuration file (default: muster.yaml in "+
		"this "+
		"directory, if it exists)")
	root.PersistentFlags().StringVarP(&g.Output, "output", "o", "text", "print results as text or json")
	root.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if g.Output != "text" && g.Output != "json" {
			return command.Usage(fmt.Errorf("--output: found %q, allowed is text or json", g.Output))
		}
		return nil
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return command.Usage(fmt.Errorf("%w%s\nrun %s --help for its arguments and flags", err,
			similarFlag(cmd, err), cmd.CommandPath()))
	})
	// Only muster alone, help and completion need the other commands and the version flag.
	all := neededCommands(args)
	for _, c := range all {
		root.AddCommand(c.make(g))
	}
	if len(all) > 1 {
		addVersionFlag(root)
	}
	withUsageErrors(root)
	return root
}

// similarFlag asks whether the flag that err does not know was another one of cmd; "" if none is similar.
func similarFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" { // one letter is like any other
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	if hint := config.Suggest("--"+unknown.GetSpecifiedName(), names); hint != "" {
		return "; " + hint
	}
	return ""
}

// addVersionFlag makes muster --version print the version, and muster alone its help. cobra's own flag uses a template,
// and with templates the linker keeps every method of every type.
func addVersionFlag(root *cobra.Command) {
	version := root.Flags().BoolP("version", "v", false, "version for muster")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*version {
			return cmd.Help()
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), thisProgram())
		return err
	}
}

// withUsageErrors makes wrong arguments of all commands below cmd a usage error, with a suggestion for a mistyped word.
// It also makes a command of subcommands print its help. Call it after all commands were added.
func withUsageErrors(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		withUsageErrors(c)
	}
	// A command that says nothing takes no argument: cobra itself would accept any below the root.
	check := cmd.Args
	if check == nil {
		check = cobra.NoArgs
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		if c.HasSubCommands() && len(args) > 0 {
			text := fmt.Sprintf("there is no command %q", c.CommandPath()+" "+args[0])
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				text += "; did you mean " + strings.Join(near, ", ") + "?"
			}
			return command.Usage(fmt.Errorf("%s", text))
		}
		if err := check(c, args); err != nil {
			return command.Usage(fmt.Errorf("%s: %w", c.CommandPath(), err))
		}
		return nil
	}
	if cmd.RunE == nil && cmd.Run == nil {
		cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
}

// newLogger logs to w, one line per event.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// newSchema makes muster schema. [kinds.Schema] writes the schema from the same declarations that decode the
// configuration, so the two cannot differ.
func newSchema(*command.Global) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON schema of the configuration, for editors",
		Long: `Schema prints the JSON schema of the configuration. An editor with a YAML language server then completes and
checks the file, if the file begins with
  # yaml-language-server: $schema=muster.schema.json`,
		Example: "  muster schema >muster.schema.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.PrintJSON(cmd.OutOrStdout(), kinds.Schema())
		},
	}
}
