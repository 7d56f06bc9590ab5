package simulations

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/importing"
	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/foreign"
	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/policy"
)

// importCommand is muster import with its flags. It contains those of compare, because --compare runs that command on
// the imported fleet. written is --write, trace is --compare.
type importCommand struct {
	compareCommand
	written, trace, fleet string
}

// NewImport makes muster import. Its steps: read the files, interpret them, parse the written configuration again as a
// check, print the notes, write the configuration, and with --compare simulate it. Whatever could not be imported is a
// note and leaves the exit code at 0; a file that cannot be interpreted is exit code 2.
//
// It has global flags of its own: -f would name an existing configuration, while compare gets the imported one.
func NewImport(g *command.Global) *cobra.Command {
	flags := &runFlags{g: &command.Global{Output: "text"}}
	x := &importCommand{compareCommand: compareCommand{runFlags: flags, parallel: runtime.NumCPU()}}
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Make a configuration from the scaling of CloudFormation, Terraform, the AWS CLI or Kubernetes",
		Long: `Import reads how another system scales today and writes a configuration of the same meaning. It reads:

  CloudFormation and SAM templates, also those that CDK writes (cdk synth), in YAML or JSON
  Terraform: *.tf and *.tfvars files or their directory, also in JSON (*.tf.json), and what terraform show -json
    prints of a plan or a state
  the AWS CLI: aws autoscaling describe-policies, aws application-autoscaling describe-scaling-policies, beside them
    describe-alarms, describe-auto-scaling-groups, describe-scalable-targets and scheduled actions, and the JSON that
    put-scaling-policy takes
  Kubernetes: ScaledObjects and ScaledJobs of KEDA, HorizontalPodAutoscalers

Several files are read together; - is standard input. References are resolved within these files, with the defaults of
parameters and variables. Settings that could not be imported become comments in the configuration, and lines with their
places on standard error.

Every fleet begins in shadow mode: Muster decides and records, and the present system goes on sizing the fleet.

The configuration goes to standard output, or with --write to a file. With --compare, import replays a trace under the
imported policy and under deadline, as muster compare does, and prints the results.`,
		Example: `  muster import template.yaml --write muster.yaml
  muster import infrastructure/ --write muster.yaml
  aws application-autoscaling describe-scaling-policies --service-namespace ecs | muster import -
  muster import scaledobject.yaml --compare requests.csv.gz --objective 60s --boot 45s`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// The flags are parsed into g; x.g is what the compare flags use.
			x.g.Output = g.Output
			return x.run(cmd, args)
		},
	}
	x.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&x.written, "write", "w", "", "write the configuration to this file")
	f.StringVar(&x.trace, "compare", "", "replay this trace under the imported policy and under deadline")
	f.StringVar(&x.fleet, "fleet", "", "with --compare: the fleet to simulate, if there are several")
	f.StringVar(&x.seeds, "seeds", "", "with --compare: the seeds, as 1-10 or 6,7,8")
	// These arguments are files, not traces. The check of -o replaces the one of the root, because many users write -o
	// FILE.
	cmd.ValidArgsFunction = nil
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		if g.Output != "text" && g.Output != "json" {
			return command.Usage(fmt.Errorf(
				"--output: found %q, allowed is text or json; to write the configuration to a "+
					"file, say --write %s", g.Output, g.Output))
		}
		return nil
	}
	cmd.MarkFlagFilename("write", "yaml", "yml")
	return cmd
}

// run imports the files and, with --compare, simulates the result.
func (x *importCommand) run(cmd *cobra.Command, names []string) error {
	files, err := importing.Files(cmd.InOrStdin(), names)
	if err != nil {
		return err
	}
	r, err := foreign.Read(files...)
	if err != nil {
		return command.Usage(err)
	}
	written := r.YAML()
	// A configuration with a fault would be a bug of Muster, which the user cannot repair.
	if _, err := importing.Parse(written); err != nil {
		return fmt.Errorf("what was written from %s is no configuration, please report it: %w", names[0], err)
	}
	if !x.g.JSON() {
		for _, n := range r.Notes {
			fmt.Fprintln(cmd.ErrOrStderr(), n.String())
		}
	}
	if x.written != "" {
		if err := durable.Replace(x.written,
			func(w io.Writer) error { _, err := w.Write(written); return err }); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s: %s\n", x.written, r.Summary())
	}
	switch {
	case x.trace != "":
		return x.compare(cmd, r, written)
	case x.g.JSON():
		return command.PrintJSON(cmd.OutOrStdout(), importing.Describe(r, written))
	case x.written == "":
		_, err := cmd.OutOrStdout().Write(written)
		return err
	}
	return nil
}

// queueNames returns the names of the queues of a fleet.
func queueNames(f config.Fleet) (names []string) {
	for _, q := range f.Queues {
		names = append(names, q.Name)
	}
	return names
}

// compare replays the trace under the fleet's policy, the rule that it was imported from if known, and deadline.
// compare reads a configuration from a file, so the imported one is written to a temporary directory.
func (x *importCommand) compare(cmd *cobra.Command, r foreign.Result, written []byte) error {
	c, err := importing.Parse(written)
	if err != nil {
		return err
	}
	at, err := simulation.FleetOf(c, x.fleet)
	if err != nil {
		return command.Usage(fmt.Errorf("--compare: %w", err))
	}
	f := c.Fleets[at]
	// The user may not want a file, but the configuration is read from one.
	dir, err := os.MkdirTemp("", "muster-import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	x.g.Config = filepath.Join(dir, "muster.yaml")
	if err := os.WriteFile(x.g.Config, written, 0o600); err != nil {
		return err
	}
	// Where the rule of the other system is known as a policy, it is compared as well.
	for _, found := range r.Fleets {
		if found.Name == f.Name && found.Peer != "" {
			x.policies = append(x.policies, found.Peer)
		}
	}
	x.only = f.Name
	// A simulated world has only the metrics that Muster measures itself.
	for _, u := range f.Policy.Metrics(f.Name, queueNames(f)) {
		if !u.Own {
			fmt.Fprintf(cmd.ErrOrStderr(),
				"--compare: there is no metric %s %s in a simulated world, so what was carried "+
					"over holds its size there\n", u.Query.Namespace, u.Query.Name)
		}
	}
	if f.Policy.Name != policy.Default {
		x.policies = append(x.policies, policy.Default)
	}
	if len(x.policies) == 0 && f.Policy.Name == policy.Default {
		return errors.New(
			"--compare: nothing that sizes the fleet could be carried over, so there is nothing to compare with " +
				"deadline",
		)
	}
	if !x.g.JSON() {
		fmt.Fprintf(
			cmd.OutOrStdout(), "%s: as it is carried over (%s), beside %s\n\n", f.Name, f.Policy.Name, policy.Default,
		)
	}
	return x.compareCommand.run(cmd, []string{x.trace})
}
