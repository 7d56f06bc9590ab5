package main

import "github.com/spf13/cobra"

// templateCommand makes muster template, which has no action of its own. Each of its commands prints text for another
// system and calls nothing.
func templateCommand(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "template", Short: "Print templates of other systems for a configuration"}
	cmd.AddCommand(newTemplateDashboard(g), newTemplateAlerts(g))
	return cmd
}
