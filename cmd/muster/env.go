package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/sqsapi"
)

// newEnv makes muster env. It reads the keys that muster up has made and never makes any itself: keys that no endpoint
// knows would be refused. Standard output holds only shell lines, for eval; warnings go to standard error.
func newEnv(g *command.Global) *cobra.Command {
	var unset bool
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print shell lines with which SQS clients reach the embedded queue",
		Long: `Env prints shell lines that set the endpoint, the region and the keys of the embedded queue. The AWS SDKs and the
AWS command line, versions 1 and 2, then use that queue:

  eval "$(muster env)"

The lines replace the AWS keys and the profile of that shell. With --unset, env prints the lines that remove the keys of
the embedded queue again. Set your own keys anew after that, or open another shell.`,
		Example: "  eval \"$(muster env)\"\n  aws sqs list-queues\n  eval \"$(muster env --unset)\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.Place()
			if err != nil {
				return err
			}
			// LoadOrCreateKeys would create missing keys, so their file is looked for first.
			path := filepath.Join(c.Data, app.KeysFile)
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf(
					"there are no keys of an embedded queue in %s yet; muster up makes them, and -f names its "+
						"configuration",
					c.Data,
				)
			}
			keys, err := sqsapi.LoadOrCreateKeys(path)
			if err != nil {
				return err
			}
			if unset {
				return printUnset(cmd, g, client.Variables("", keys))
			}
			// With port 0 only the running muster up knows its port.
			if strings.HasSuffix(c.Listen.Queue, ":0") {
				return command.Usage(fmt.Errorf("found listen.queue %s, where the port is another at every start; "+
					"state one, or take the lines that muster up prints", c.Listen.Queue))
			}
			warnReplaced(cmd.ErrOrStderr(), keys)
			// The lines are right even when nothing runs yet, so this is a warning and no error.
			var s server.Status
			if err := client.Get(cmd.Context(), c, "/v1/status", &s); errors.Is(err, client.ErrNotRunning) {
				fmt.Fprintf(
					cmd.ErrOrStderr(),
					"muster env: muster up does not run here now, so nothing answers at http://%s\n",
					c.Listen.Queue,
				)
			}
			return printEnv(cmd, g, client.Variables("http://"+c.Listen.Queue, keys))
		},
	}
	cmd.Flags().BoolVar(&unset, "unset", false, "print the lines that remove the variables from the shell")
	return cmd
}

// warnReplaced warns on standard error when the lines replace AWS keys or a profile of the user.
func warnReplaced(errOut io.Writer, keys sqsapi.Keys) {
	own := os.Getenv("AWS_ACCESS_KEY_ID")
	var has []string
	if own != "" && own != keys.AccessKeyID {
		has = append(has, "keys")
	}
	if profile := os.Getenv("AWS_PROFILE"); profile != "" {
		has = append(has, "the profile "+profile)
	}
	if len(has) > 0 {
		fmt.Fprintf(errOut, "muster env: this shell has %s for AWS, which these lines replace\n",
			strings.Join(has, " and "))
	}
}

// printEnv prints shell lines that set the variables, or the variables as JSON: set by name, and unset for those that
// would make clients ignore the keys.
func printEnv(cmd *cobra.Command, g *command.Global, set []client.Variable) error {
	if !g.JSON() {
		_, err := fmt.Fprint(cmd.OutOrStdout(), client.ShellLines(set))
		return err
	}
	values := map[string]string{}
	for _, v := range set {
		values[v.Name] = v.Value
	}
	return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"set": values, "unset": client.Competing()})
}

// printUnset prints the line that unsets the variables. If the shell has other keys than ours, it prints nothing: unset
// would remove the keys of the user.
func printUnset(cmd *cobra.Command, g *command.Global, set []client.Variable) error {
	var names []string
	// The lines belong to a shell: only its own variables tell whether eval "$(muster env)" ran in it.
	ours := false
	for _, v := range set {
		names = append(names, v.Name)
		ours = ours || v.Name == "AWS_ACCESS_KEY_ID" && os.Getenv(v.Name) == v.Value
	}
	if !ours {
		// With -o json a script gets an empty list, and not the names that it must not unset.
		names = []string{}
		fmt.Fprintln(
			cmd.ErrOrStderr(),
			"muster env: this shell does not have the keys of the embedded queue, so nothing is unset",
		)
	}
	if g.JSON() {
		return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"set": map[string]string{}, "unset": names})
	}
	if !ours {
		return nil
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "unset %s\n", strings.Join(names, " "))
	return err
}
