package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/deploy/iam"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
)

// newIAM makes muster iam. The output is JSON with either -o, because that is what IAM takes.
func newIAM(g *global) *cobra.Command {
	var o iam.Options
	mode := string(kind.ModeUp)
	cmd := &cobra.Command{
		Use:   "iam --mode MODE -f FILE [FLEET...]",
		Short: "Print the least-privilege IAM policy for a configuration",
		Long: `Iam prints the policy that the role of a program needs: the actions that it calls, on the resources that the
configuration names. It calls nothing. The modes are

  up       muster up, also with the workers of its local fleets
  work     muster work: the workers on instances and in tasks
  plan     muster plan and other commands that only read
  publish  muster publish
  doctor   muster doctor

Some actions cannot be restricted to resources; the Sid of their statement ends with NoResourceLevel. docs/iam.md
explains each permission.`,
		Example: "  muster iam --mode up -f muster.yaml >policy.json\n" +
			"  muster iam --mode work -f muster.yaml --report cloudwatch images",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := g.needFile("iam"); err != nil {
				return err
			}
			c, err := g.load()
			if err != nil {
				return err
			}
			o.Mode, o.Fleets = kind.Mode(mode), args
			p, err := iam.Make(c, kinds.Table(), o)
			if err != nil {
				return usage(fmt.Errorf("iam: %w", err))
			}
			if len(p.Statement) == 0 {
				return usage(fmt.Errorf("iam: in the mode %s the configuration calls nothing on AWS, so no policy is "+
					"needed", mode))
			}
			if n := p.Size(); n > iam.MaxSize {
				fmt.Fprintf(cmd.ErrOrStderr(), "muster: the policy has %d characters, a managed policy at most %d: "+
					"name the fleets of each role, as in muster iam --mode %s FLEET\n", n, iam.MaxSize, mode)
			}
			return printJSON(cmd.OutOrStdout(), p)
		},
	}
	var modes []string
	for _, m := range kind.Modes() {
		modes = append(modes, string(m))
	}
	cmd.Flags().StringVar(&mode, "mode", mode, "what the role runs: "+strings.Join(modes, ", "))
	cmd.Flags().StringVar(&o.Account, "account", "", "the account's number (default: that of the fleet's queue)")
	cmd.Flags().StringVar(&o.Region, "region", "", "the region of what names none")
	cmd.Flags().StringSliceVar(&o.PassRoles, "pass-role", nil, "the ARNs of the roles of task definitions (default: "+
		"any role that is passed to tasks)")
	cmd.Flags().StringSliceVar(&o.Workers.Reports, "report", nil, "for work: as the flag of muster work, "+
		"cloudwatch[:NAMESPACE] or dynamodb:TABLE")
	cmd.Flags().BoolVar(&o.Workers.LifecycleHook, "lifecycle-hook", false, "for work: the workers have a lifecycle "+
		"hook")
	cmd.Flags().BoolVar(&o.Workers.Protection, "protect-instance", false, "for work: the workers run with "+
		"--protection instance")
	cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
