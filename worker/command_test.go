package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
	"github.com/muster-scale/muster/worker/ledger"
)

// TestMain lets the test binary play the commands that the tests run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "play-") {
		os.Exit(playPart(os.Args[1], os.Args[2:]))
	}
	os.Exit(m.Run())
}

// playPart is one command; it returns its exit status.
func playPart(part string, args []string) int {
	switch part {
	case "play-copy": // standard input to a file
		body, err := io.ReadAll(os.Stdin)
		if err != nil || os.WriteFile(args[0], body, 0o600) != nil {
			return 1
		}
	case "play-environment": // the environment to a file
		return status(os.WriteFile(args[0], []byte(strings.Join(os.Environ(), "\n")), 0o600))
	case "play-flood": // much output, then failure
		line := strings.Repeat("x", 1023) + "\n"
		for range 10 << 10 {
			fmt.Print(line)
		}
		fmt.Fprintln(os.Stderr, "the end \x1b[31m")
		return 7
	case "play-hold": // hold a lock for ever, whatever signal comes
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		return hold(args[0], args[1])
	case "play-polite": // say that it runs; exit well when asked to end
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		announce(args[0])
		<-asked
	case "play-parent", "play-abandon", "play-escape": // start a child that holds a lock; wait for it, or not
		child := exec.Command(os.Args[0], append([]string{"play-hold"}, args...)...)
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: part == "play-escape"}
		if child.Start() != nil {
			return 1
		}
		if part == "play-parent" {
			signal.Ignore(syscall.SIGTERM)
			return status(child.Wait())
		}
		_ = os.WriteFile(args[2], fmt.Append(nil, child.Process.Pid), 0o600)
	case "play-lines": // speak JSON lines, or misbehave
		return playLines(args)
	case "play-killer": // count an attempt, and be killed in its midst
		l, err := ledger.OpenLedger(context.Background(), args[0])
		if err == nil {
			_, err = l.Begin(context.Background(), worker.Message{ID: "m"})
		}
		if err == nil {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return 1
	case "play-rules": // keep to every rule but one
		return playRules(args[0])
	case "play-lines-copy": // write each body to a file
		return playLinesCopy(args[0])
	}
	return 0
}

func status(err error) int {
	if err != nil {
		return 1
	}
	return 0
}

// announce writes to a named pipe, which waits until the test listens.
func announce(fifo string) {
	_ = os.WriteFile(fifo, []byte("here"), 0o600)
}

// hold takes the lock, announces that, and never ends by itself.
func hold(lock, fifo string) int {
	f, err := os.OpenFile(lock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil || syscall.Flock(int(f.Fd()), syscall.LOCK_EX) != nil {
		return 1
	}
	announce(fifo)
	select {}
}

func fifo(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// heard waits until a command announces itself.
func heard(t *testing.T, fifo string) {
	t.Helper()
	if said, err := os.ReadFile(fifo); err != nil || string(said) != "here" {
		t.Fatalf("heard %q, %v", said, err)
	}
}

// released waits until the holder of the lock is dead: only then the system gives the lock to somebody else.
func released(t *testing.T, lock string) {
	t.Helper()
	f, err := os.OpenFile(lock, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	got := make(chan error, 1)
	go func() { got <- syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }()
	select {
	case err := <-got:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the grandchild still lives")
	}
}

// plays returns the command that plays a part.
func plays(args ...string) execution.Command {
	return execution.Command{Argv: append([]string{os.Args[0]}, args...)}
}

func TestCommandPassesTheBodyByteForByte(t *testing.T) {
	bodies := map[string]string{
		"nothing":                "",
		"quotes":                 `it's "quoted" and \escaped`,
		"newlines":               "a\nb\r\n\n",
		"a NUL":                  "before\x00after",
		"shell syntax":           "$(touch /tmp/x); `id` | cat > y & ${HOME} *",
		"a leading dash":         "-rf --help",
		"bytes that are no text": "\xff\xfe\x80",
		"a mebibyte":             strings.Repeat("0123456789abcdef", 1<<16),
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "body")
			if err := plays("play-copy", file).Run(t.Context(), worker.Message{ID: "m", Body: body}); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != body {
				t.Errorf("the command read %d bytes, %v; want the %d of the body", len(got), err, len(body))
			}
		})
	}
}

func TestCommandNeedNotReadTheBody(t *testing.T) {
	body := strings.Repeat("x", 1<<20)
	c := execution.Command{Argv: []string{"true"}}
	if err := c.Run(t.Context(), worker.Message{Body: body}); err != nil {
		t.Error(err)
	}
}

func TestCommandEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary")
	t.Setenv("MUSTER_MEMBER_FD", "9")
	t.Setenv("LET_THROUGH", "yes")
	t.Setenv("TZ", "UTC")
	file := filepath.Join(t.TempDir(), "env")
	c := plays("play-environment", file)
	c.Env = []string{"LET_THROUGH", "NOT_SET"}
	err := c.Run(t.Context(), worker.Message{
		ID: "id-1", Queue: "orders", ReceiveCount: 3, Body: "canary",
		SentAt: time.Date(2026, 3, 1, 13, 0, 0, 5_000_000, time.FixedZone("", 3600)),
		Attributes: map[string]worker.Attribute{
			"tenant.name-x": {Type: "String.custom", Text: "a=b\nc"},
			"size":          {Type: "Number", Text: "42"},
			"picture":       {Type: "Binary", Binary: []byte("canary")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"LET_THROUGH=yes", "TZ=UTC", "PATH=" + os.Getenv("PATH"), "MUSTER_MESSAGE_ID=id-1",
		"MUSTER_IDEMPOTENCY_KEY=id-1",
		"MUSTER_QUEUE=orders", "MUSTER_RECEIVE_COUNT=3", "MUSTER_SENT_AT=2026-03-01T12:00:00.005Z",
		"MUSTER_ATTRIBUTE_TENANT_NAME_X=a=b\nc", "MUSTER_ATTRIBUTE_SIZE=42",
	} {
		if !strings.Contains("\n"+string(got)+"\n", "\n"+want+"\n") {
			t.Errorf("the environment lacks %q", want)
		}
	}
	for _, no := range []string{"canary", "MUSTER_MEMBER_FD", "NOT_SET", "PICTURE"} {
		if bytes.Contains(got, []byte(no)) {
			t.Errorf("the environment has %q", no)
		}
	}
}

func TestCommandDoesNotSayWhatIsUnknown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	if err := plays("play-environment", file).Run(t.Context(), worker.Message{ID: "m"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); bytes.Contains(got, []byte("RECEIVE_COUNT")) ||
		bytes.Contains(got, []byte("SENT_AT")) {
		t.Errorf("an unknown count or instant was passed on:\n%s", got)
	}
}

func TestCommandRefusesAttributesThatCannotBeVariables(t *testing.T) {
	tests := []struct {
		name       string
		attributes map[string]worker.Attribute
		says       string
	}{
		{"a NUL in the value", map[string]worker.Attribute{"a": {Type: "String", Text: "x\x00y"}},
			"MUSTER_ATTRIBUTE_A for the command: the value has a NUL"},
		{"a value too long", map[string]worker.Attribute{"a": {Type: "String", Text: strings.Repeat("x", 32<<10+1)}},
			"has 32769 bytes, at most 32768"},
		{"two names that become one", map[string]worker.Attribute{"a.b": {Type: "String"}, "A_B": {Type: "Number"}},
			`"A_B" and "a.b" would both become MUSTER_ATTRIBUTE_A_B`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := execution.Command{Argv: []string{"true"}}.Run(t.Context(),
				worker.Message{Attributes: test.attributes})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an error that says %q", err, test.says)
			}
		})
	}
}

func TestCommandSaysHowItFailed(t *testing.T) {
	tests := []struct {
		name   string
		script string
		status int
		signal string
		says   string
	}{
		{"the exit status and the last line", "echo first; echo 'cannot open x' >&2; exit 3", 3, "",
			`command "/bin/sh" exited with status 3; its last output is "cannot open x"`},
		{"the last three lines of standard error", "echo none; printf 'one\n\n  two  \nthree\r\nValueError: no\n\n' " +
			">&2; exit 1", 1, "",
			`exited with status 1; its last output is "two" / "three" / "ValueError: no"`},
		{"of long lines the last", fmt.Sprintf("printf '%s\n%s\n' >&2; exit 1", strings.Repeat("a", 250),
			strings.Repeat("b", 100)), 1, "",
			`its last output is "` + strings.Repeat("b", 100) + `"`},
		{"of a longer one its end", fmt.Sprintf("printf '%s\n' >&2; exit 1", strings.Repeat("a", 300)+"the end"), 1, "",
			`its last output is "` + strings.Repeat("a", 291) + `the end"`},
		{"of one that is all escapes as much as there is room for",
			`i=0; while [ $i -lt 200 ]; do printf '\033'; i=$((i+1)); done >&2; exit 1`, 1, "",
			`its last output is "` + strings.Repeat(`\x1b`, 74) + `"`},
		{"standard output where nothing else was said", "echo first; echo last; exit 2", 2, "",
			`its last output is "first" / "last"`},
		{"the signal", "kill -KILL $$", -1, "killed", `command "/bin/sh" was ended by signal "killed"`},
		{"control characters escaped", `printf 'a\033[2Jb'; exit 1`, 1, "", `its last output is "a\x1b[2Jb"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := execution.Command{Argv: []string{"/bin/sh", "-c", test.script}}.Run(t.Context(), worker.Message{})
			exit, ok := errors.AsType[*execution.ExitError](err)
			if !ok || exit.Status != test.status || exit.Signal != test.signal ||
				!strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v (%+v), want one that says %q", err, exit, test.says)
			}
		})
	}
}

func TestCommandBoundsItsOutput(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	c := plays("play-flood")
	c.OutputLimit = 1000
	c.Logger = slog.New(slog.NewJSONHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	err := c.Run(t.Context(), worker.Message{ID: "id-1", Body: "secret"})
	exit, ok := errors.AsType[*execution.ExitError](err)
	if !ok || len(exit.Stdout) != 1000 || !strings.HasPrefix(exit.Stderr, "the end \x1b[31m\n") || exit.Status != 7 {
		t.Fatalf("got %.200v", err)
	}
	if n := strings.Count(logs.String(), `"line":"xxx`); n != 10<<10 {
		t.Errorf("logged %d lines, want each of %d", n, 10<<10)
	}
	if !strings.Contains(logs.String(), `the end \\x1b[31m`) || strings.Contains(logs.String(), "secret") {
		t.Error("the log lacks the escaped last line, or has the body")
	}
}

func TestCommandLogsNothingAboveDebug(t *testing.T) {
	var logs bytes.Buffer
	c := execution.Command{Argv: []string{"echo", "hello"}, Logger: slog.New(slog.NewTextHandler(&logs, nil))}
	if err := c.Run(t.Context(), worker.Message{}); err != nil || logs.Len() > 0 {
		t.Errorf("got %v and logged %q", err, logs.String())
	}
}

// runs runs a command in the background until the test stops it for a cause.
func runs(t *testing.T, c execution.Command) (stop context.CancelCauseFunc, done <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error, 1)
	go func() { result <- c.Run(ctx, worker.Message{ID: "m"}) }()
	return cancel, result
}

func TestCommandIsKilledWithItsGrandchildrenWhenTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	lock, up := filepath.Join(t.TempDir(), "lock"), fifo(t, "up")
	stop, done := runs(t, plays("play-parent", lock, up))
	heard(t, up)
	begun := time.Now()
	stop(worker.ErrLeaseLost)
	err := <-done
	exit, ok := errors.AsType[*execution.ExitError](err)
	if !ok || exit.Signal != "killed" || !errors.Is(err, worker.ErrLeaseLost) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("it took %s, want it killed at once", took)
	}
	released(t, lock)
}

func TestCommandIsKilledWhenItDoesNotEndInTime(t *testing.T) {
	t.Parallel()
	lock, up := filepath.Join(t.TempDir(), "lock"), fifo(t, "up")
	stop, done := runs(t, plays("play-parent", lock, up))
	heard(t, up)
	begun := time.Now()
	stop(worker.ErrStopped)
	err := <-done
	if exit, ok := errors.AsType[*execution.ExitError](err); !ok || exit.Signal != "killed" ||
		!errors.Is(err, worker.ErrStopped) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begun); took < 5*time.Second {
		t.Errorf("it was killed after %s, want 5s to end by itself", took)
	}
	released(t, lock)
}

func TestCommandThatEndsWellWhenAskedHasNotSucceeded(t *testing.T) {
	t.Parallel()
	up := fifo(t, "up")
	stop, done := runs(t, plays("play-polite", up))
	heard(t, up)
	stop(worker.ErrStopped)
	err := <-done
	if exit, ok := errors.AsType[*execution.ExitError](err); !ok || exit.Status != 0 ||
		!errors.Is(err, worker.ErrStopped) {
		t.Errorf("got %v, want an error: the work may be half done", err)
	}
}

func TestCommandLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	lock, up, gone := filepath.Join(t.TempDir(), "lock"), fifo(t, "up"), fifo(t, "gone")
	_, done := runs(t, plays("play-abandon", lock, up, gone))
	heard(t, up)
	if _, err := os.ReadFile(gone); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	released(t, lock)
}

func TestCommandIsOverAlthoughAGrandchildEscapedAndKeepsItsOutputOpen(t *testing.T) {
	t.Parallel()
	lock, up, gone := filepath.Join(t.TempDir(), "lock"), fifo(t, "up"), fifo(t, "gone")
	_, done := runs(t, plays("play-escape", lock, up, gone))
	heard(t, up)
	said, err := os.ReadFile(gone)
	if err != nil {
		t.Fatal(err)
	}
	escaped, err := strconv.Atoi(string(said))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(escaped, syscall.SIGKILL) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the command is not over")
	}
}

func TestCommandIsNotStartedWhenItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(worker.ErrStopped)
	file := filepath.Join(t.TempDir(), "made")
	if err := plays("play-copy", file).Run(ctx, worker.Message{}); !errors.Is(err, worker.ErrStopped) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the command was started")
	}
}

func TestCommandCheck(t *testing.T) {
	dir := t.TempDir()
	plain, script := filepath.Join(dir, "plain"), filepath.Join(dir, "script")
	if os.WriteFile(plain, nil, 0o600) != nil || os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700) != nil {
		t.Fatal("cannot write the files")
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	tests := []struct {
		name string
		c    execution.Command
		says string
	}{
		{"a program in PATH", execution.Command{Argv: []string{"sh"}}, ""},
		{"a program by its path", execution.Command{Argv: []string{script}}, ""},
		{"a program relative to the directory", execution.Command{Argv: []string{"./script"}, Dir: dir}, ""},
		{"nothing to run", execution.Command{}, "found no program"},
		{"a program that is not in PATH", execution.Command{Argv: []string{"no-such-program"}},
			`no program "no-such-program" in PATH=/usr/bin:/bin`},
		{"a path that is not there", execution.Command{Argv: []string{"/no/such"}}, "cannot run /no/such"},
		{"a file that may not be executed", execution.Command{Argv: []string{plain}}, "cannot run " + plain},
		{"a directory that is not there", execution.Command{Argv: []string{"sh"}, Dir: "/no/such"}, "its directory"},
		{"a file for a directory", execution.Command{Argv: []string{"sh"}, Dir: plain}, "is not a directory"},
		{"an assignment for a name", execution.Command{Argv: []string{"sh"}, Env: []string{"A=b"}},
			`found "A=b" among the variables`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.c.Check()
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want one that says %q", err, test.says)
			}
		})
	}
}

func TestCommandThatIsNotThereFailsItsMessage(t *testing.T) {
	before := openDescriptors(t)
	for range 20 {
		if err := (execution.Command{Argv: []string{"/no/such"}}).Run(t.Context(), worker.Message{}); err == nil {
			t.Fatal("a program that is not there has run")
		}
	}
	if after := openDescriptors(t); after > before+5 {
		t.Errorf("%d descriptors are open after 20 failures, %d were before", after, before)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip("this system does not list descriptors")
	}
	return len(entries)
}

func TestKeepMemberLockHidesTheDescriptorFromCommands(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	fd, err := syscall.Dup(int(f.Fd())) // as inherited: not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	t.Setenv(execution.MemberLockVariable, fmt.Sprint(fd))
	if err := execution.KeepMemberLock(); err != nil {
		t.Fatal(err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the descriptor's flags are %d, %v; want close-on-exec", flags, err)
	}
	for _, bad := range []string{"", "two", "-1", "2", "999999"} {
		t.Setenv(execution.MemberLockVariable, bad)
		if err := execution.KeepMemberLock(); err == nil {
			t.Errorf("took the descriptor %q", bad)
		}
	}
}

func TestRunWithACommand(t *testing.T) {
	t.Parallel()
	q := newFakeQueue("a", "b")
	file := filepath.Join(t.TempDir(), "out")
	c := execution.Command{Argv: []string{"/bin/sh", "-c", `cat >> "$0"; echo >> "$0"`, file}}
	err := worker.Run(t.Context(), worker.Options{Queue: q, Do: c.Run, IdleStop: 300 * time.Millisecond,
		Visibility: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(file)
	if lines := strings.Fields(string(got)); !slices.Equal(lines, []string{"secret-a", "secret-b"}) {
		t.Errorf("the command wrote %q", got)
	}
}
