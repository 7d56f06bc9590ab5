package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/foreign"
	"github.com/muster-scale/muster/policy"
)

// carrying is what muster import was asked for.
type carrying struct {
	comparison
	out, trace, fleet string
}

func newImport(g *global) *cobra.Command {
	x := &carrying{comparison: comparison{arena: &arena{g: &global{output: "text"}}, parallel: runtime.NumCPU()}}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a configuration from a CloudFormation template or a KEDA ScaledObject",
		Long: `Import reads the scaling policies of a CloudFormation or SAM template, in YAML or JSON, or the ScaledObjects of
KEDA, and writes the configuration that means the same: to standard output, or to a file. From templates it reads target
tracking (predefined and customized metrics, and metric math) and step scaling of Auto Scaling groups and ECS services.
References are resolved within the template, with the defaults of its parameters. What could not be carried over is a
comment in the configuration and a line on standard error, with its place.

With --compare it replays a trace under the policy that was found and under deadline, as muster compare does, and prints
what each would have made of it; the configuration is then written to a file alone.`,
		Example: `  muster import template.yaml -o muster.yaml
  muster import scaledobject.yaml --compare requests.csv.gz --objective 60s --boot 45s`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd, args[0]) },
	}
	x.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&x.out, "output", "o", "", "the file to write the configuration to; - for standard output")
	f.StringVar(&x.trace, "compare", "", "replay this trace under the policy found and under deadline")
	f.StringVar(&x.fleet, "fleet", "", "with --compare: the fleet, where there are several")
	f.StringVar(&x.seeds, "seeds", "", "with --compare: the seeds, as 1-10 or 6,7,8")
	cmd.ValidArgsFunction = nil
	cmd.MarkFlagFilename("output", "yaml", "yml")
	return cmd
}

func (x *carrying) run(cmd *cobra.Command, file string) error {
	text, err := readBounded(file)
	if err != nil {
		return usage(err)
	}
	r, err := foreign.Read(file, text)
	if err != nil {
		return usage(err)
	}
	written := r.YAML()
	if _, err := config.Parse("the configuration", written, func(string) (string, bool) { return "", false }); err != nil {
		return fmt.Errorf("what was written from %s is no configuration, please report it: %w", file, err)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), n.String())
	}
	if x.out == "" && x.trace == "" || x.out == "-" {
		if _, err := cmd.OutOrStdout().Write(written); err != nil {
			return err
		}
	} else if x.out != "" {
		if err := writeFile(x.out, func(w io.Writer) error { _, err := w.Write(written); return err }); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s: %s\n", x.out, r.Summary())
	}
	if x.trace == "" {
		return nil
	}
	return x.compare(cmd, r, written)
}

// readBounded reads a little more than is accepted, so that the reader says what is wrong with a larger file.
func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read what to import: %w", err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, foreign.MaxBytes+1))
}

// compare replays the trace under the fleet's policy, the rule it was taken from where that is known, and deadline.
func (x *carrying) compare(cmd *cobra.Command, r foreign.Result, written []byte) error {
	c, err := config.Parse("the configuration", written, func(string) (string, bool) { return "", false })
	if err != nil {
		return err
	}
	f, err := fleetOf(c, x.fleet)
	if err != nil {
		return usage(fmt.Errorf("--compare: %w", err))
	}
	dir, err := os.MkdirTemp("", "muster-import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	x.g.config = filepath.Join(dir, "muster.yaml")
	if err := os.WriteFile(x.g.config, written, 0o600); err != nil {
		return err
	}
	for _, found := range r.Fleets {
		if found.Name == f.Name && found.Peer != "" {
			x.policies = append(x.policies, found.Peer)
		}
	}
	x.only = f.Name
	if f.Policy.Name != policy.Default {
		x.policies = append(x.policies, policy.Default)
	}
	if len(x.policies) == 0 && f.Policy.Name == policy.Default {
		return errors.New("--compare: nothing that sizes the fleet could be carried over, so there is nothing to compare with deadline")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: as it is carried over (%s), beside %s\n\n", f.Name, f.Policy.Name, policy.Default)
	return x.comparison.run(cmd, []string{x.trace})
}
