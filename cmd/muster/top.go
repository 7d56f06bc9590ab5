package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/top"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/server"
)

// newTop makes muster top. It uses the terminal of the process and not the streams of the command, because it reads
// single keys and redraws the screen. With -o json it prints the events of the stream as lines, for programs. An
// interrupt is the usual end and no failure.
func newTop(g *command.Global) *cobra.Command {
	return &cobra.Command{
		Use: "top", Short: "Watch the fleets of the running muster up and their curves in a terminal",
		Long: `Top shows every fleet as it changes, and the curves of one: workers, backlog, and the oldest message with the
objective. It follows the same stream as the dashboard.

  j, k or arrows  select a fleet        enter   show its curves
  q               leave                 escape  back to the list

NO_COLOR is honoured. With -o json it prints each event of the stream as one line, until interrupted.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.Place()
			if err != nil {
				return err
			}
			if !g.JSON() {
				err := top.Run(cmd.Context(), c, os.Stdin, os.Stdout)
				if errors.Is(err, top.ErrNoTerminal) {
					return command.Usage(err)
				}
				return err
			}
			// A broken stream is followed again without a word: the next event says how things are.
			err = client.Follow(cmd.Context(), c, func(e client.Event) error {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), `{"event":%q,"data":%s}`+"\n", e.Name, e.Data)
				return err
			}, func(error) {})
			if cmd.Context().Err() != nil {
				return nil // the user ended it
			}
			return err
		},
	}
}

// newDashboard makes muster dashboard. The running muster up makes the link, because only it knows its sessions. The
// command shows the token from the data directory; a reader of that file already has every permission. The link stands
// alone on its line, so that a script can open it.
func newDashboard(g *command.Global) *cobra.Command {
	readOnly := false
	cmd := &cobra.Command{
		Use: "dashboard", Short: "Print a link that opens the dashboard of the running muster up in a browser",
		Long: `Dashboard prints a link to the dashboard. It opens one session, within 15 minutes; the session lasts 12 hours.
Until then the link is a secret: it lets its reader in.`,
		Example: `  muster dashboard
  muster dashboard --read-only`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.Place()
			if err != nil {
				return err
			}
			role := "operator"
			if readOnly {
				role = "reader"
			}
			resp, err := client.Ask(cmd.Context(), c, http.MethodPost, "/v1/links",
				strings.NewReader(fmt.Sprintf(`{"role":%q}`, role)))
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return client.Refused(resp)
			}
			var link server.Link
			if err := json.NewDecoder(resp.Body).Decode(&link); err != nil {
				return fmt.Errorf("read the link: %w", err)
			}
			if g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), link)
			}
			fmt.Fprintln(cmd.OutOrStdout(), link.URL)
			return nil
		},
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "a session that may change nothing")
	return cmd
}
