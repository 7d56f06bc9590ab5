package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"

	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/spf13/cobra"
)

// starter is the configuration that muster init writes.
//
//go:embed starter.yaml
var starter string

// newInit makes muster init. It creates the file exclusively, so that it can never overwrite a configuration: an
// existing file is exit code 2. The text itself is starter.yaml; the script test init checks it and runs muster up with
// it.
func newInit(g *command.Global) *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented configuration that works at once",
		Long: `Init writes a configuration with a comment on every key, by default to muster.yaml, where all commands find it.
It has one embedded queue and a fleet of worker processes, and muster up runs it unchanged. Init never overwrites a
file.`,
		Example: "  muster init && muster up",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := command.DefaultFile
			if len(args) == 1 {
				path = args[0]
			}
			// O_EXCL: of two calls at once, one finds the file of the other.
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, os.ErrExist) {
				return command.Usage(fmt.Errorf(
					"init: %s is there already and stays as it is; name another file, or remove it",
					path))
			}
			if err != nil {
				return fmt.Errorf("init: %w", err)
			}
			_, err = f.WriteString(starter)
			if err = errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("init: %w", err)
			}
			if g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), map[string]string{"file": path})
			}
			named := ""
			if path != command.DefaultFile {
				named = " -f " + path
			}
			_, err = fmt.Fprintf(
				cmd.OutOrStdout(),
				"wrote %s; next: muster up%s, and in another terminal muster send%s --queue jobs --count 10\n",
				path,
				named,
				named,
			)
			return err
		},
	}
}
