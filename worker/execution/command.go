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
	"github.com/muster-scale/muster/worker/usage"
)

const (
	// killAfter is the time from SIGTERM to SIGKILL.
	killAfter = 5 * time.Second
	// drainOutput is how long output is read after the command ended: a child outside the process group may keep the
	// pipe open.
	drainOutput = time.Second
	// defaultOutputLimit is how many bytes of output an error keeps.
	defaultOutputLimit = 64 << 10
)

// Command runs a program for each message. The body is its standard input; the environment holds the other properties
// of the message. There is no shell, so nothing in a message can become part of the command line. It runs on Linux and
// macOS.
//
// The program gets its own process group, which is killed as a whole: after the program has ended, when the lease on
// the message is lost, and five seconds after SIGTERM, which it gets when the context ends for any other reason. A
// child that leaves the group escapes, except in `muster work` on Linux, where it is killed too.
type Command struct {
	// Argv is the program and its arguments. A program without a slash is looked up in PATH.
	Argv []string
	// Env names further variables of this process that the program may see; see [Command.Run].
	Env []string
	// Set are variables for the program, as NAME=VALUE. They override others of the same name.
	Set []string
	// Stdout gets the program's standard output while it runs; nil is allowed. One goroutine calls its Write, which
	// must not block. Its result is ignored.
	Stdout io.Writer
	// Dir is the program's working directory; empty means that of this process.
	Dir string
	// OutputLimit is how many bytes an [ExitError] keeps of the end of each output; 0 means 64 KiB.
	OutputLimit int
	// Logger gets each line of output at debug level, unless Print is set; nil is allowed.
	Logger *slog.Logger
	// Print is called with each line of output; nil is allowed. Several goroutines call it; it must not block.
	Print func(Printed)
}

// Printed is a line of a program's output.
type Printed struct {
	// Message is the id of the message that the program was working on; empty if there was none or several.
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
	// Cause is why the program was stopped; nil when it ended by itself.
	Cause error
}

// Error says how the command ended. It quotes the last lines of its standard error, or of its output if that is empty:
// at most three lines and 300 bytes.
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
	// maxShown bounds the output in an error's text, in quoted bytes; maxShownLines bounds its lines.
	maxShown      = 300
	maxShownLines = 3
	// betweenLines separates quoted lines.
	betweenLines = " / "
)

// lastLines quotes the last non-empty lines of an output. It leaves out lines that do not fit, and those before them.
// If the last line does not fit, it quotes the end of it.
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

// quotedEnd quotes the end of a line in at most most bytes.
func quotedEnd(line string, most int) string {
	line = strings.TrimSpace(line)
	line = line[max(0, len(line)-most):]
	for {
		quoted := strconv.QuoteToGraphic(line)
		over := len(quoted) - most
		if over <= 0 {
			return quoted
		}
		line = line[(over+3)/4:] // an escape has at least four bytes, so this never cuts too much
	}
}

// Unwrap returns why the program was stopped, if it was.
func (e *ExitError) Unwrap() error { return e.Cause }

// Check tells whether the command can start: the program exists and is executable, the directory exists, and Env holds
// valid names. Call it before the first receive.
func (c Command) Check() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return errors.New("check the command: found no program to run; say which, with its arguments")
	}
	for _, name := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("check the command: found %q among the variables to pass on, only the name of a "+
				"variable is allowed", name)
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
// Of this process's environment the program gets PATH, HOME, LANG, LC_ALL, TZ, TMPDIR, USER and the names in c.Env.
// Added to these are MUSTER_MESSAGE_ID, MUSTER_IDEMPOTENCY_KEY (the same), MUSTER_QUEUE, MUSTER_GROUP, MUSTER_ATTEMPT,
// MUSTER_RECEIVE_COUNT, MUSTER_SENT_AT (RFC 3339 with milliseconds), and MUSTER_ATTRIBUTE_<NAME> for each text
// attribute. A variable whose value is unknown is not set.
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
	began := time.Now()
	streams.stdin(m.Body)
	ended, told := make(chan struct{}), make(chan bool, 1)
	go func() { told <- endGroup(ctx, cmd.Process.Pid, ended) }()
	err = cmd.Wait()
	close(ended)
	usage.Add(ctx, usage.Ended(cmd.ProcessState, time.Since(began)))
	toldToEnd := <-told
	// Children that the program left behind must not go on, because the message is settled.
	signalGroup(cmd.Process.Pid, syscall.SIGKILL)
	descendants.End(mark)
	streams.close()
	switch {
	case toldToEnd:
		// Many programs exit with status 0 after SIGTERM, with their work half done.
		return c.failure(cmd, err, streams, context.Cause(ctx))
	case err != nil:
		return c.failure(cmd, err, streams, nil)
	}
	return nil
}

// withThisThread makes the kernel kill the program when this process ends in any way, where the system supports it.
// Call the returned function when the program has ended.
func withThisThread(cmd *exec.Cmd) (ended func()) {
	if !descendants.Adopts() {
		return func() {}
	}
	runtime.LockOSThread() // the kernel ties the program to the thread that starts it
	descendants.WithParent(cmd.SysProcAttr)
	return runtime.UnlockOSThread
}

// endGroup ends the process group if ctx ends before the program does, and tells whether it did.
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

// signalGroup signals a process group. It ignores the error of a group that has ended.
func signalGroup(group int, signal syscall.Signal) { _ = syscall.Kill(-group, signal) }

// failure returns the error of a program that ended with err, or that was stopped because of cause.
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
	in io.WriteCloser
	// outs are the read ends of the two outputs; copiers are the goroutines that use the streams.
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
	// Without its own copies closed, this process would never read the end of the outputs.
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

// stdin writes the body in the background. A program may leave it unread; Wait closes the pipe.
func (p *pipes) stdin(body string) {
	p.copiers.Go(func() {
		_, _ = io.WriteString(p.in, body)
		_ = p.in.Close()
	})
}

// close waits up to drainOutput for the rest of the output.
func (p *pipes) close() {
	late := time.AfterFunc(drainOutput, p.closeOuts)
	p.copiers.Wait()
	late.Stop()
	p.closeOuts()
}

// closeOuts closes the read ends, which also ends their readers.
func (p *pipes) closeOuts() {
	for _, f := range p.outs {
		_ = f.Close()
	}
}
