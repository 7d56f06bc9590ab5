package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/internal/built"
)

// version is set by the build of a release. If it is empty, the module's own version counts.
var version = ""

// thisProgram describes the running program.
func thisProgram() built.Program {
	info, _ := debug.ReadBuildInfo()
	return built.From(version, info)
}

// newVersion makes muster version. The commit comes from the build information that Go embeds.
func newVersion(g *command.Global) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, and the commit it was built from",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), thisProgram())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), thisProgram())
			return err
		},
	}
}
