package validate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster/app/demo"
)

// lineIn holds the fields that are used of a line from the worker.
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

// SleepLines is the program of the workers in the steady run. It speaks JSON lines as docs/worker-protocol.md specifies
// them, and sleeps for the duration in each body, at most one minute. It reads in until its end and answers on out. If
// log is not nil, it logs each finished message there, as [demo.WriteDone] does; worker is the worker's process id.
func SleepLines(in io.Reader, out, log io.Writer, worker int) error {
	lines, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var line lineIn
		switch err := lines.Decode(&line); {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read a line of the worker: %w", err)
		// Other types without messages need no answer.
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
				answer.Error = fmt.Sprintf("the message body: found %.20q, allowed is a duration of at most 1m, "+
					"such as 20ms",
					m.Body)
			} else {
				time.Sleep(d)
				if log != nil {
					// A failed write shows as a message that was never finished.
					demo.WriteDone(log, m.Queue, m.ID, m.SentAt, worker, began)
				}
			}
			if err := answers.Encode(answer); err != nil {
				return err
			}
		}
	}
}
