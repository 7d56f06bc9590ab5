// Package command tells notices to a program: each notice is one run, with the notice as JSON on standard input and its
// parts in variables MUSTER_*. docs/notices.md lists them.
//
// The program is never given to a shell. It starts in the directory of the configuration. An exit code of 0 is a
// delivery, any other is tried again. A run may take as long as package notice allows; then it is killed.
package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/notice"
)

// Config is a command as the configuration states it.
type Config struct {
	// Command is the program and its arguments.
	Command []string
}

// Kind is the row of the kind.
func Kind() kind.ChannelRow {
	return kind.ChannelRow{Key: "command", What: "the program and its arguments, run for each notice; there is no " +
		"shell",
		New: func() kind.Channel { return &Config{} }}
}

// Keys implements [channels.Destination]. A command is a list and has no keys.
func (*Config) Keys() []keys.Key { return nil }

// Set implements [channels.Listed].
func (c *Config) Set(command []string) { c.Command = command }

// Verify implements [channels.Destination].
func (c *Config) Verify(s *keys.Source, path string) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		s.Fault(path, "found no program, allowed is a program and its arguments", "")
	}
}

// Open implements [kind.Channel].
func (c *Config) Open(_ *kind.Host, dir string) notice.Channel {
	return program{slices.Clone(c.Command), dir}
}

// program runs a command for each notice.
type program struct {
	argv []string
	dir  string
}

const (
	// maxOutput bounds the kept output of a run, in bytes.
	maxOutput = 4 << 10
	// patience is how long the output of a killed run may stay open, which its descendants may hold.
	patience = time.Second
)

// Send implements [notice.Channel]. The answer is the output of the run.
func (p program) Send(ctx context.Context, n incident.Notice) (answer string, err error) {
	body, err := json.Marshal(n)
	if err != nil {
		return "", err
	}
	run := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	var output bounded
	run.Stdin, run.Stdout, run.Stderr = bytes.NewReader(append(body, '\n')), &output, &output
	run.Dir, run.Env, run.WaitDelay = p.dir, append(os.Environ(), variables(n)...), patience
	// A script waits for programs of its own, and they must not outlive it at each attempt.
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	err = run.Run()
	// The program ended with 0, and only a program that it left behind still has the output open.
	if ctx.Err() == nil && errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	said := incident.Line(string(output), 200)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if said != "" {
			said = ": " + said
		}
		return "", fmt.Errorf("run %s for the notice: %w%s", p.argv[0], err, said)
	}
	if said == "" {
		said = "exit code 0"
	}
	return said, nil
}

// variables returns the parts of a notice as NAME=VALUE. Package incident has removed line breaks.
func variables(n incident.Notice) []string {
	i := n.Incident
	ended := ""
	if !i.Open() {
		ended = i.EndedAt.UTC().Format(time.RFC3339)
	}
	return []string{
		"MUSTER_NOTICE=" + n.ID, "MUSTER_EVENT=" + string(n.Event), "MUSTER_HOST=" + n.Host, "MUSTER_TEXT=" + n.Text,
		"MUSTER_INCIDENT=" + i.ID, "MUSTER_KIND=" + string(i.Kind), "MUSTER_FLEET=" + i.Fleet,
		"MUSTER_SUBJECT=" + i.Subject, "MUSTER_SENTENCE=" + i.Sentence, "MUSTER_COMMAND=" + i.Command,
		"MUSTER_BEGAN_AT=" + i.BeganAt.UTC().Format(time.RFC3339), "MUSTER_ENDED_AT=" + ended,
	}
}

// bounded keeps the first maxOutput bytes that are written to it, and drops the others.
type bounded []byte

// Write implements io.Writer. It never fails.
func (b *bounded) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), maxOutput-len(*b))]...)
	return len(p), nil
}
