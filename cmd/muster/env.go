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
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/sqsapi"
)

func newEnv(g *global) *cobra.Command {
	var unset bool
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the lines that let SQS clients of a shell reach the embedded queue",
		Long: `Env prints lines for a shell. With them the AWS SDKs and the AWS command line, versions 1 and 2, reach the
embedded queue and are allowed to use it:

  eval "$(muster env)"

The lines replace the AWS keys and the profile of that shell. With --unset they take the keys of the embedded queue
out again; then set your own anew, or open another shell.`,
		Example: "  eval \"$(muster env)\"\n  aws sqs list-queues\n  eval \"$(muster env --unset)\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.place()
			if err != nil {
				return err
			}
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
			if strings.HasSuffix(c.Listen.Queue, ":0") {
				return usage(fmt.Errorf("found listen.queue %s, where the port is another at every start; "+
					"state one, or take the lines that muster up prints", c.Listen.Queue))
			}
			warnReplaced(cmd.ErrOrStderr(), keys)
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
	cmd.Flags().BoolVar(&unset, "unset", false, "print the lines that take the variables out of the shell again")
	return cmd
}

// warnReplaced says what the printed lines replace.
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

func printEnv(cmd *cobra.Command, g *global, set []client.Variable) error {
	if !g.json() {
		_, err := fmt.Fprint(cmd.OutOrStdout(), client.ShellLines(set))
		return err
	}
	values := map[string]string{}
	for _, v := range set {
		values[v.Name] = v.Value
	}
	return printJSON(cmd.OutOrStdout(), map[string]any{"set": values, "unset": client.Competing()})
}

// printUnset prints nothing if the shell has other keys, which must stay.
func printUnset(cmd *cobra.Command, g *global, set []client.Variable) error {
	var names []string
	ours := false
	for _, v := range set {
		names = append(names, v.Name)
		ours = ours || v.Name == "AWS_ACCESS_KEY_ID" && os.Getenv(v.Name) == v.Value
	}
	if !ours {
		names = []string{}
		fmt.Fprintln(
			cmd.ErrOrStderr(),
			"muster env: this shell does not have the keys of the embedded queue, so nothing is unset",
		)
	}
	if g.json() {
		return printJSON(cmd.OutOrStdout(), map[string]any{"set": map[string]string{}, "unset": names})
	}
	if !ours {
		return nil
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "unset %s\n", strings.Join(names, " "))
	return err
}
