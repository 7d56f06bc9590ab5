package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/deploy/alerts"
	"github.com/muster-scale/muster/deploy/dashboard"
	"github.com/muster-scale/muster/deploy/iam"
	"github.com/muster-scale/muster/deploy/stack"
	"github.com/muster-scale/muster/deploy/stack/cloudformation"
	"github.com/muster-scale/muster/deploy/stack/terraform"
	"github.com/muster-scale/muster/kinds"
)

// templateCommand makes muster template. Its commands print text for other systems and call nothing.
func templateCommand(g *command.Global) *cobra.Command {
	cmd := &cobra.Command{Use: "template", Short: "Print templates of other systems for a configuration"}
	cmd.AddCommand(newMonitoring(g, "dashboard", "grafana", dashboard.Make),
		newMonitoring(g, "alerts", "prometheus", alerts.Make), newStack(g))
	return cmd
}

// newStack makes muster template stack. The output is a template with either -o: no other program reads it. The form
// has no default, because a file of the wrong tool is noticed late.
func newStack(g *command.Global) *cobra.Command {
	var cloudFormation, hcl bool
	var o stack.Options
	cmd := &cobra.Command{
		Use:   "stack --cloudformation|--terraform [-f FILE] [FLEET]",
		Short: "Print everything on AWS below a fleet: see docs/templates.md",
		Long:  stack.Help,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, fleet []string) error {
			if cloudFormation == hcl {
				return command.Usage(fmt.Errorf(
					"%s: allowed is one of --cloudformation and --terraform", cmd.CommandPath()))
			}
			c, err := g.Load()
			if err != nil {
				return err
			}
			s, err := stack.Make(c, kinds.Table(), strings.Join(fleet, ""), o)
			if err != nil {
				return command.Usage(err)
			}
			write := map[bool]func(stack.Stack) []byte{true: cloudformation.Write, false: terraform.Write}
			_, err = cmd.OutOrStdout().Write(write[cloudFormation](s))
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&cloudFormation, "cloudformation", false, "a template of CloudFormation, in YAML")
	f.BoolVar(&hcl, "terraform", false, "a root module of Terraform, in one file")
	f.StringVar(&o.Events, "events", "", "the name of the queue of events to make, or none (default: the first in "+
		"events; none with delegate)")
	return cmd
}

// newMonitoring makes a command that prints what f returns for CloudWatch or for the other system.
func newMonitoring(
	g *command.Global, name, other string, f func(string, *config.Config) ([]byte, error),
) *cobra.Command {
	var plain, cloudWatch bool
	cmd := &cobra.Command{
		Use: name + " --" + other + "|--cloudwatch [-f FILE]", Short: "Print " + name + ": see docs/monitoring.md",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if plain == cloudWatch {
				return command.Usage(fmt.Errorf(
					"%s: allowed is one of --%s and --cloudwatch", cmd.CommandPath(), other))
			}
			c, err := g.Load()
			if err != nil {
				return err
			}
			text, err := f(map[bool]string{true: other, false: "cloudwatch"}[plain], c)
			cmd.OutOrStdout().Write(text)
			return command.Usage(err)
		},
	}
	cmd.Flags().BoolVar(&plain, other, false, "for "+other)
	cmd.Flags().BoolVar(&cloudWatch, "cloudwatch", false, "for CloudWatch")
	return cmd
}

// newIAM makes muster iam. It reads only the configuration and calls nothing, so it works without an account. The
// output is JSON with either -o, because that is what IAM takes.
func newIAM(g *command.Global) *cobra.Command {
	var o iam.Options
	cmd := &cobra.Command{
		Use: "iam --mode MODE -f FILE [FLEET...]", Short: "Print the least-privilege IAM policy for a configuration",
		Long: iam.Help, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, fleets []string) error {
			c, err := g.Load()
			if err != nil {
				return err
			}
			text, err := iam.Text(c, kinds.Table(), o, fleets...)
			cmd.OutOrStdout().Write(text)
			return command.Usage(err)
		},
	}
	f := cmd.Flags()
	f.StringVar((*string)(&o.Mode), "mode", "up", "what the role runs: up, work, plan, publish, doctor, advise, or a "+
		"function")
	f.StringVar(&o.Account, "account", "", "the account's number (default: that of the fleet's queue)")
	f.StringVar(&o.Region, "region", "", "the region of what names none")
	f.StringVar(&o.History, "history", "", "for functions: the table of their history, dynamodb:TABLE")
	f.StringSliceVar(&o.PassRoles, "pass-role", nil, "the ARNs of the roles of task definitions (default: any)")
	f.StringSliceVar(&o.Workers.Reports, "report", nil, "for work: cloudwatch[:NAMESPACE] or dynamodb:TABLE")
	f.BoolVar(&o.Workers.LifecycleHook, "lifecycle-hook", false, "for work: the workers have a lifecycle hook")
	f.BoolVar(&o.Workers.Protection, "protect-instance", false, "for work: they run with --protection instance")
	return cmd
}
