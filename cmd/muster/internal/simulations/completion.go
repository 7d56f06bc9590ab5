package simulations

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/contest"
)

// OtherAutoscalers returns the names of the rules of other autoscalers.
func OtherAutoscalers() []string {
	var names []string
	for _, c := range contest.All() {
		if c.Peer {
			names = append(names, c.Name)
		}
	}
	return names
}

// CompletePolicies returns what completes the name of a policy in a replay: the rule of another autoscaler, and with
// ours also a policy of Muster. Without one it completes the last name of a list.
func CompletePolicies(ours, one bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		given := text[:strings.LastIndexByte(text, ',')+1]
		if one {
			given = ""
		}
		var all []cobra.Completion
		for _, name := range policy.Names() {
			if ours {
				all = append(all, cobra.CompletionWithDesc(name, policy.Describe(name)))
			}
		}
		for _, c := range contest.All() {
			if c.Peer {
				all = append(all, cobra.CompletionWithDesc(given+c.Name, c.What))
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// completePolicy completes the last policy of a list.
func completePolicy(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	given := text[:strings.LastIndexByte(text, ',')+1]
	var all []cobra.Completion
	for _, c := range contest.All() {
		all = append(all, cobra.CompletionWithDesc(given+c.Name, c.What))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
