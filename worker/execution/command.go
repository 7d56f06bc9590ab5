package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/worker"
)

const (
	// killAfter is how long a command that was asked to end may take before it is killed.
	killAfter = 5 * time.Second
	// drainOutput is how long output is read after the command ended, for a child that left the process group and keeps
	// the pipe open.
	drainOutput = time.Second
	// defaultOutputLimit is how many bytes of output are kept for the error.
	defaultOutputLimit = 64 << 10
)

// Command runs a program for each message: the body on its standard input, what else is known of the message in its
// environment. There is no shell in between, so that nothing in a message can become part of the command line. It runs
// on Linux and macOS.
//
// The program gets a process group of its own, which is killed as a whole: after the program ended, when the lease on
// the message is lost, and five seconds after it was asked to end (SIGTERM) when the context ends for any other reason.
// A child that leaves the group escapes, except in `muster work` on Linux, where it is killed with the group.
type Command struct {
	// Argv is the program and its arguments. A program without a slash is looked up in PATH.
	Argv []string
	// Env names further variables of this process that the program may see; see [Command.Run].
	Env []string
	// Set are further variables that the program sees, as NAME=VALUE. They stand above others of the same name.
	Set []string
	// Stdout gets the program's standard output as it comes, and may be nil. Its Write is called by one goroutine, must
	// not wait, and what it returns does not matter.
	Stdout io.Writer
	// Dir is where the program runs; empty means where this process does.
	Dir string
	// OutputLimit is how many bytes of each of its two outputs, the last ones, an [ExitError] keeps; 0 means 64 KiB.
	OutputLimit int
	// Logger gets each line of output at debug level, and may be nil. With Print it gets none.
	Logger *slog.Logger
	// Print is called with each line that the program prints, and may be nil. It is called by several goroutines and
	// must not wait.
	Print func(Printed)
}

// Printed is a line that a program printed.
type Printed struct {
	// Message is the id of the message that the program worked on; empty where it worked on none, or on several at
	// once.
	Message string
	// Stream is stdout or stderr.
	Stream string
	// Text is the line as it was printed, without its end. A line of more than 4 KiB comes in pieces.
	Text string
}

// ExitError says how a command failed.
type ExitError struct {
	// Program is the first element of the command line.
	Program string
	// Status is the exit status, or -1 when a signal ended the program; Signal then names it.
	Status int
	Signal string
	// Stdout and Stderr are the ends of what the program wrote.
	Stdout, Stderr string
	// Cause is why the program was told to end; nil when it was not.
	Cause error
}

// Error says how the command ended, and the last lines of its standard error, or of its output when that is empty: at
// most three of them and 300 bytes, the last one first of all.
func (e *ExitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "command %q ", e.Program)
	switch {
	case e.Signal != "":
		fmt.Fprintf(&b, "was ended by signal %q", e.Signal)
	default:
		fmt.Fprintf(&b, "exited with status %d", e.Status)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, " because %v", e.Cause)
	}
	if last := lastLines(cmp.Or(strings.TrimSpace(e.Stderr), strings.TrimSpace(e.Stdout))); last != "" {
		fmt.Fprintf(&b, "; its last output is %s", last)
	}
	return b.String()
}

const (
	// maxShown bounds the output shown in an error's text, in bytes as they are quoted; maxShownLines the lines of it.
	maxShown      = 300
	maxShownLines = 3
	// betweenLines separates quoted lines.
	betweenLines = " / "
)

// lastLines quotes the last lines of an output that are not empty. A line for which there is no room is left out with
// those before it; of the last one as much of its end is shown as there is room for.
func lastLines(output string) string {
	var shown []string
	room := maxShown
	for output != "" && len(shown) < maxShownLines {
		at := strings.LastIndexByte(output, '\n')
		line := strings.TrimRight(output[at+1:], " \t\r")
		output = output[:max(0, at)]
		if strings.TrimSpace(line) == "" {
			continue
		}
		quoted := quotedEnd(line, room)
		if len(shown) > 0 {
			if quoted = strconv.QuoteToGraphic(strings.TrimSpace(line)); len(quoted)+len(betweenLines) > room {
				break
			}
			room -= len(betweenLines)
		}
		room -= len(quoted)
		shown = append(shown, quoted)
	}
	slices.Reverse(shown)
	return strings.Join(shown, betweenLines)
}

// quotedEnd quotes as much of the end of a line as takes no more than so many bytes.
func quotedEnd(line string, most int) string {
	line = strings.TrimSpace(line)
	line = line[max(0, len(line)-most):]
	for {
		quoted := strconv.QuoteToGraphic(line)
		over := len(quoted) - most
		if over <= 0 {
			return quoted
		}
		line = line[(over+3)/4:] // an escape has four bytes and more, so this cuts no more than it must
	}
}

// Unwrap returns why the program was told to end, if it was.
func (e *ExitError) Unwrap() error { return e.Cause }

// Check tells whether the command could be started: that the program is there and may be executed, that the directory
// exists, and that the names in Env are names. Call it before the first message is received.
func (c Command) Check() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return errors.New("check the command: found no program to run; say which, with its arguments")
	}
	for _, name := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("check the command: found %q among the variables to pass on, only a variable's name is "+
				"allowed", name)
		}
	}
	if c.Dir != "" {
		if d, err := os.Stat(c.Dir); err != nil {
			return fmt.Errorf("check the command: its directory: %w", err)
		} else if !d.IsDir() {
			return fmt.Errorf("check the command: its directory %s is not a directory", c.Dir)
		}
	}
	program := c.Argv[0]
	if !strings.Contains(program, "/") {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("check the command: no program %q in PATH=%s; install it or give its path: %w",
				program, os.Getenv("PATH"), err)
		}
		return nil
	}
	if c.Dir != "" && !filepath.IsAbs(program) {
		program = filepath.Join(c.Dir, program)
	}
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("check the command: cannot run %s; it must exist and be executable: %w", program, err)
	}
	return nil
}

// Run runs the program for m and returns nil when it exits with status 0, and an [*ExitError] otherwise.
//
// The program sees of this process's environment PATH, HOME, LANG, LC_ALL, TZ, TMPDIR, USER and the names in c.Env, and
// besides MUSTER_MESSAGE_ID, MUSTER_IDEMPOTENCY_KEY (the same), MUSTER_QUEUE, MUSTER_GROUP, MUSTER_ATTEMPT,
// MUSTER_RECEIVE_COUNT, MUSTER_SENT_AT (RFC 3339 with milliseconds) and MUSTER_ATTRIBUTE_<NAME> for each attribute that
// is text; what is unknown is not set.
func (c Command) Run(ctx context.Context, m worker.Message) error {
	if len(c.Argv) == 0 {
		return c.Check()
	}
	env, err := environment(c.Env, m)
	if err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("start command %q: %w", c.Argv[0], err)
	}
	mark := descendants.Mark()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(append(env, c.Set...), mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	defer withThisThread(cmd)()
	of := func() string { return m.ID }
	stdout := c.output(of, "stdout", "message", m.ID)
	stdout.also = c.Stdout
	streams, err := startWith(cmd, stdout, c.output(of, "stderr", "message", m.ID))
	if err != nil {
		return fmt.Errorf("start command %q: %w", c.Argv[0], err)
	}
	streams.stdin(m.Body)
	ended, told := make(chan struct{}), make(chan bool, 1)
	go func() { told <- endGroup(ctx, cmd.Process.Pid, ended) }()
	err = cmd.Wait()
	close(ended)
	toldToEnd := <-told
	// What the program left behind must not go on: the message is done with.
	signalGroup(cmd.Process.Pid, syscall.SIGKILL)
	descendants.End(mark)
	streams.close()
	switch {
	case toldToEnd:
		// Many programs exit with status 0 when they are asked to end, with their work half done.
		return c.failure(cmd, err, streams, context.Cause(ctx))
	case err != nil:
		return c.failure(cmd, err, streams, nil)
	}
	return nil
}

// withThisThread has the program end with this process, however this process ends, where the system can do that. The
// returned function is called when the program has ended.
func withThisThread(cmd *exec.Cmd) (ended func()) {
	if !descendants.Adopts() {
		return func() {}
	}
	runtime.LockOSThread() // the kernel watches the thread that starts the program
	descendants.WithParent(cmd.SysProcAttr)
	return runtime.UnlockOSThread
}

// endGroup ends the process group when ctx ends before the program does, and tells whether it had to.
func endGroup(ctx context.Context, group int, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return false
	case <-ctx.Done():
	}
	if !errors.Is(context.Cause(ctx), worker.ErrLeaseLost) {
		signalGroup(group, syscall.SIGTERM)
		patience := time.NewTimer(killAfter)
		defer patience.Stop()
		select {
		case <-ended:
			return true
		case <-patience.C:
		case <-worker.LeaseLost(ctx):
		}
	}
	signalGroup(group, syscall.SIGKILL)
	return true
}

// signalGroup signals a process group. That the group is gone already is no error.
func signalGroup(group int, signal syscall.Signal) { _ = syscall.Kill(-group, signal) }

func (c Command) failure(cmd *exec.Cmd, err error, p *pipes, cause error) error {
	if cmd.ProcessState == nil {
		return fmt.Errorf("wait for command %q: %w", c.Argv[0], err)
	}
	failure := &ExitError{
		Program: c.Argv[0], Status: cmd.ProcessState.ExitCode(), Cause: cause,
		Stdout: p.stdout.String(), Stderr: p.stderr.String(),
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		failure.Signal = status.Signal().String()
	}
	return failure
}

// pipes are the parent's ends of a running command's standard streams.
type pipes struct {
	in             io.WriteCloser
	outs           []*os.File
	copiers        sync.WaitGroup
	stdout, stderr *output
}

// startWith starts cmd with pipes on its standard streams, and the readers of its output.
func startWith(cmd *exec.Cmd, stdout, stderr *output) (*pipes, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p, err := startReading(cmd, stdout.read, stderr.read)
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	p.in, p.stdout, p.stderr = in, stdout, stderr
	return p, nil
}

// startReading starts cmd with pipes on its two outputs, each with its reader.
func startReading(cmd *exec.Cmd, readOut, readErr func(io.Reader)) (*pipes, error) {
	p := &pipes{stdout: &output{}, stderr: &output{}}
	var childEnds []*os.File
	err := func() (err error) {
		for _, stream := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
			r, w, err := os.Pipe()
			if err != nil {
				return err
			}
			p.outs, childEnds = append(p.outs, r), append(childEnds, w)
			*stream = w
		}
		return cmd.Start()
	}()
	for _, f := range childEnds {
		_ = f.Close()
	}
	if err != nil {
		p.closeOuts()
		return nil, err
	}
	p.copiers.Go(func() { readOut(p.outs[0]) })
	p.copiers.Go(func() { readErr(p.outs[1]) })
	return p, nil
}

// stdin writes the body in the background. A program that does not read it is no error; Wait closes the pipe.
func (p *pipes) stdin(body string) {
	p.copiers.Go(func() {
		_, _ = io.WriteString(p.in, body)
		_ = p.in.Close()
	})
}

// close waits for the rest of the output, for a second at most.
func (p *pipes) close() {
	late := time.AfterFunc(drainOutput, p.closeOuts)
	p.copiers.Wait()
	late.Stop()
	p.closeOuts()
}

func (p *pipes) closeOuts() {
	for _, f := range p.outs {
		_ = f.Close()
	}
}
