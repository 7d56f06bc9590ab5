package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/internal/built"
)

// version is set when a release is built. It is empty elsewhere: what was built then says the module's own version.
var version = ""

// thisProgram is what is known of the running program.
func thisProgram() built.Program {
	info, _ := debug.ReadBuildInfo()
	return built.From(version, info)
}

func newVersion(g *global) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, and the commit it was built from",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.json() {
				return printJSON(cmd.OutOrStdout(), thisProgram())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), thisProgram())
			return err
		},
	}
}
