package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-scale/muster/config"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"muster": func() { os.Exit(run()) }, "endpoint": serveWork})
}

// TestScripts runs the command as a person would, one script for each thing a person does.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestComputingScripts runs the scripts whose commands print or compute and start nothing.
func TestComputingScripts(t *testing.T) {
	if raced {
		t.Skip("they only compute: make test runs them without the race detector")
	}
	runScripts(t, "testdata/computing")
}

// runScripts runs each script of a directory, several at a time.
func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Values["stand-ins"] = &standIns{}
			return setupEnv(func(name, value string) { e.Setenv(name, value) }, e.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"eventually": eventually, "exits": exits,
			"standin": standIn},
	})
}

// setupEnv gives a script ports of its own and no AWS configuration but what it exports.
func setupEnv(set func(name, value string), dir string) error {
	for _, name := range []string{"QUEUE_PORT", "API_PORT", "ENDPOINT_PORT"} {
		port, err := freePort()
		if err != nil {
			return err
		}
		set(name, strconv.Itoa(port))
	}
	set("HOME", dir)
	set("GORACE", "atexit_sleep_ms=10") // a program under the race detector sleeps a second before it ends
	set("AWS_EC2_METADATA_DISABLED", "true")
	set("AWS_CONFIG_FILE", filepath.Join(dir, "none"))
	set("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "none"))
	return nil
}

// ports counts the ports handed out by this process.
var ports atomic.Int64

// freePort returns a port that no other script gets. It lies below those that the system gives to outgoing connections,
// so that it stays free while a script restarts what listens there.
func freePort() (int, error) {
	for range 1000 {
		port := 20_000 + (os.Getpid()*97+int(ports.Add(1)))%10_000
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no port is free")
}

// eventually runs a command again and again until it succeeds and its output contains the last argument, which is set
// apart by --. It gives up after two minutes, which a machine under load may need.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	want := ""
	for i, a := range args {
		if a == "--" && i == len(args)-2 {
			want, args = args[i+1], args[:i]
			break
		}
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: eventually command... [-- text]")
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := quietly(ts, args)
		if err == nil && strings.Contains(out, want) {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("%s never succeeded with %q in its output: %v\n%s", strings.Join(args, " "), want, err, out)
		case <-tick.C:
		}
	}
}

// exits runs a command that must end with the exit code given first.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command...")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		code = ended.ExitCode()
	} else if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%s ended with %d, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// quietly runs a command in the script's environment, and keeps its output out of the script's log.
func quietly(ts *testscript.TestScript, args []string) (string, error) {
	c := exec.Command("/usr/bin/env", args...)
	c.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "QUEUE_PORT", "API_PORT", "ENDPOINT_PORT",
		"AWS_EC2_METADATA_DISABLED", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestReadme runs the shell sessions of the README and compares what they print. A line of three dots stands for any
// lines, three dots within a line for any text.
func TestReadme(t *testing.T) {
	st := newStage(t)
	defer st.end()
	readme := st.local(read(t, "../../README.md"))
	st.configure(t, block(readme, "```yaml"))
	for _, s := range sessions(readme) {
		if target, ok := strings.CutPrefix(s.command, "make "); ok {
			if !strings.Contains(read(t, "../../Makefile"), "\n"+target+":") {
				t.Errorf("README: there is no make target %q", target)
			}
			continue
		}
		if strings.HasPrefix(s.command, "git clone") || strings.HasPrefix(s.command, "go install") {
			continue
		}
		runSession(t, s, st.dir, st.env, &st.background)
	}
	if len(st.background) == 0 {
		t.Error("README: no session started muster up; the test would prove nothing")
	}
}

// session is a command and what it is said to print.
type session struct {
	command string
	output  []string
}

// block returns the first fenced block that begins with the given line.
func block(text, begin string) string {
	_, after, _ := strings.Cut(text, "\n"+begin+"\n")
	inside, _, _ := strings.Cut(after, "```")
	return inside
}

// TestTheConfigurationPageShowsTheExample keeps docs/configuration.md equal to the example that the program carries.
func TestTheConfigurationPageShowsTheExample(t *testing.T) {
	if got, want := block(read(t, "../../docs/configuration.md"), "```yaml"), config.Example(); got != want {
		t.Errorf("docs/configuration.md shows\n%s\nand config.Example is\n%s", got, want)
	}
}

func sessions(readme string) (all []session) {
	inside := false
	for line := range strings.Lines(readme) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case inside && strings.HasPrefix(line, "$ "):
			all = append(all, session{command: line[2:]})
		case inside && len(all) > 0:
			all[len(all)-1].output = append(all[len(all)-1].output, line)
		}
	}
	return all
}

func runSession(t *testing.T, s session, dir string, env []string, background *[]*exec.Cmd) {
	t.Helper()
	command, behind := strings.CutSuffix(s.command, " &")
	c := exec.Command("sh", "-c", "exec "+command)
	if !behind {
		c = exec.Command("sh", "-c", command)
	}
	c.Dir, c.Env = dir, env
	if !behind {
		out, err := c.CombinedOutput()
		if !matches(strings.Split(strings.TrimRight(string(out), "\n"), "\n"), s.output) {
			t.Errorf("README: $ %s (%v)\nprinted\n%s\nand is said to print\n%s", s.command, err, out,
				strings.Join(s.output, "\n"))
		}
		return
	}
	out, err := os.Create(filepath.Join(dir, fmt.Sprintf("background-%d", len(*background))))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	*background = append(*background, c)
	waitUntil(t, 50*time.Millisecond, func() bool {
		text, _ := os.ReadFile(out.Name())
		return matches(strings.Split(strings.TrimRight(string(text), "\n"), "\n"), s.output)
	}, func() string {
		text, _ := os.ReadFile(out.Name())
		return fmt.Sprintf("README: $ %s\nprinted\n%s\nand is said to print\n%s", s.command, text,
			strings.Join(s.output, "\n"))
	})
}

// waitUntil waits until is tells so, asking as often as given. After twenty seconds the test fails with what
// otherwise says.
func waitUntil(t *testing.T, every time.Duration, is func() bool, otherwise func() string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatal(otherwise())
		case <-tick.C:
		}
	}
}

// matches compares printed lines with those that are said to be printed, but for blank lines at the end.
func matches(printed, said []string) bool {
	return matchLines(trimBlank(printed), trimBlank(said))
}

func trimBlank(lines []string) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func matchLines(printed, said []string) bool {
	switch {
	case len(said) == 0:
		return len(printed) == 0
	case said[0] == "...":
		if len(said) == 1 {
			return true
		}
		for i := range printed {
			if matchLines(printed[i:], said[1:]) {
				return true
			}
		}
		return false
	case len(printed) == 0 || !matchesLine(printed[0], said[0]):
		return false
	case len(said) == 1:
		return len(printed) == 1
	}
	return matchLines(printed[1:], said[1:])
}

func matchesLine(printed, said string) bool {
	parts := strings.Split(said, "...")
	if !strings.HasPrefix(printed, parts[0]) {
		return false
	}
	rest := printed[len(parts[0]):]
	for i, part := range parts[1:] {
		if i == len(parts)-2 {
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return rest == ""
}

// binDir is where testscript put the command.
func binDir(t *testing.T) string {
	path, err := exec.LookPath("muster")
	if err != nil {
		t.Fatalf("the command is not on the path: %v", err)
	}
	return filepath.Dir(path)
}
