package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// newSleepLines is the program of the workers in the steady run of validate: it speaks JSON lines, as
// docs/worker-protocol.md specifies them.
func newSleepLines() *cobra.Command {
	var start time.Duration
	cmd := &cobra.Command{
		Use: "sleep-lines", Hidden: true, Args: cobra.NoArgs,
		Short: "Speak JSON lines, and sleep for the duration that each message holds",
		Long: `Sleep-lines is a program for muster work --json-lines. It takes as long to start as --start says. With
MUSTER_DONE_LOG set it adds a line to that file for each message, as muster sleep-body does.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var log io.Writer
			if path := os.Getenv("MUSTER_DONE_LOG"); path != "" {
				f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
				if err != nil {
					return err
				}
				defer f.Close()
				log = f
			}
			time.Sleep(start)
			return sleepLines(cmd.InOrStdin(), cmd.OutOrStdout(), log, os.Getppid())
		},
	}
	cmd.Flags().DurationVar(&start, "start", 0, "how long it takes to start")
	return cmd
}

// lineIn is what is read of a line of the worker.
type lineIn struct {
	Type     string `json:"type"`
	Messages []struct {
		Delivery string `json:"delivery"`
		ID       string `json:"id"`
		Queue    string `json:"queue"`
		SentAt   string `json:"sent_at"`
		Body     string `json:"body"`
	} `json:"messages"`
}

// lineOut is a line to the worker.
type lineOut struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol,omitzero"`
	Delivery string `json:"delivery,omitzero"`
	OK       *bool  `json:"ok,omitzero"`
	Error    string `json:"error,omitzero"`
}

// sleepLines answers lines until there are no more. Each message that is done adds a line to log, if there is one, in
// one write, so that lines of many programs do not mix.
func sleepLines(in io.Reader, out, log io.Writer, worker int) error {
	lines, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var line lineIn
		switch err := lines.Decode(&line); {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read a line of the worker: %w", err)
		case line.Type == "hello":
			if err := answers.Encode(lineOut{Type: "ready", Protocol: 1}); err != nil {
				return err
			}
		}
		for _, m := range line.Messages {
			began := time.Now()
			d, err := time.ParseDuration(m.Body)
			ok := err == nil && d >= 0 && d <= time.Minute
			answer := lineOut{Type: "done", Delivery: m.Delivery, OK: &ok}
			if !ok {
				answer.Error = fmt.Sprintf("the message body: found %.20q, allowed is a duration of at most 1m, such as 20ms",
					m.Body)
			} else {
				time.Sleep(d)
				if log != nil {
					fmt.Fprintf(log, "%s %s %s %s %d %s\n", m.Queue, m.ID, m.SentAt,
						time.Now().UTC().Format(time.RFC3339Nano), worker, began.UTC().Format(time.RFC3339Nano))
				}
			}
			if err := answers.Encode(answer); err != nil {
				return err
			}
		}
	}
}
