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
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/sqsapi"
)

// variable is one variable of a shell's environment.
type variable struct{ name, value string }

// clientVariables are what every client of SQS needs to reach the embedded queue at an endpoint. The AWS command line
// of version 1 goes to the real service in each region that it knows, whatever endpoint is set: it reads
// AWS_DEFAULT_REGION, and gets one that it does not know.
func clientVariables(endpoint string, keys sqsapi.Keys) []variable {
	return []variable{
		{"AWS_ENDPOINT_URL_SQS", endpoint}, {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false"},
		{"AWS_REGION", "us-east-1"}, {"AWS_DEFAULT_REGION", sqsapi.LocalRegion},
		{"AWS_ACCESS_KEY_ID", keys.AccessKeyID}, {"AWS_SECRET_ACCESS_KEY", keys.SecretAccessKey},
	}
}

// competing are the variables for which some clients leave those keys aside, or send something else with them.
func competing() []string {
	return []string{"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"}
}

// shellLines are the lines that put the variables into a shell.
func shellLines(set []variable) string {
	var b strings.Builder
	fmt.Fprintf(&b, "unset %s\n", strings.Join(competing(), " "))
	for _, v := range set {
		fmt.Fprintf(&b, "export %s=%s\n", v.name, v.value)
	}
	return b.String()
}

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
					"there are no keys of an embedded queue in %s yet; muster up makes them, and -f names its configuration",
					c.Data,
				)
			}
			keys, err := sqsapi.LoadOrCreateKeys(path)
			if err != nil {
				return err
			}
			if unset {
				return printUnset(cmd, g, clientVariables("", keys))
			}
			if strings.HasSuffix(c.Listen.Queue, ":0") {
				return usage(fmt.Errorf("found listen.queue %s, where the port is another at every start; "+
					"state one, or take the lines that muster up prints", c.Listen.Queue))
			}
			warnReplaced(cmd.ErrOrStderr(), keys)
			var s server.Status
			if err := g.get(cmd.Context(), c, "/v1/status", &s); errors.Is(err, errNotRunning) {
				fmt.Fprintf(
					cmd.ErrOrStderr(),
					"muster env: muster up does not run here now, so nothing answers at http://%s\n",
					c.Listen.Queue,
				)
			}
			return printEnv(cmd, g, clientVariables("http://"+c.Listen.Queue, keys))
		},
	}
	cmd.Flags().BoolVar(&unset, "unset", false, "print the lines that take the variables out of the shell again")
	return cmd
}

// warnReplaced says what the lines replace.
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
		fmt.Fprintf(errOut, "muster env: this shell has %s for AWS, which these lines replace\n", strings.Join(has, " and "))
	}
}

func printEnv(cmd *cobra.Command, g *global, set []variable) error {
	if !g.json() {
		_, err := fmt.Fprint(cmd.OutOrStdout(), shellLines(set))
		return err
	}
	values := map[string]string{}
	for _, v := range set {
		values[v.name] = v.value
	}
	return printJSON(cmd.OutOrStdout(), map[string]any{"set": values, "unset": competing()})
}

// printUnset prints nothing where the shell has other keys: they are not ours to take away.
func printUnset(cmd *cobra.Command, g *global, set []variable) error {
	var names []string
	ours := false
	for _, v := range set {
		names = append(names, v.name)
		ours = ours || v.name == "AWS_ACCESS_KEY_ID" && os.Getenv(v.name) == v.value
	}
	if !ours {
		names = []string{}
		fmt.Fprintln(
			cmd.ErrOrStderr(),
			"muster env: this shell has not the keys of the embedded queue, so nothing is taken out",
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
