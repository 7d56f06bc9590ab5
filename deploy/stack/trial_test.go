package stack_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeAWS answers the calls of scripts/on-aws. Stacks are the lines of a file, calls those of another.
const fakeAWS = `#!/bin/sh
echo "$*" >>"$FAKE/calls"
name() { while [ "$1" != --stack-name ]; do shift; done; echo "$2"; }
case "$1 $2" in
"sts get-caller-identity") echo 123456789012 ;;
"cloudformation describe-stacks") cat "$FAKE/stacks" || exit 254 ;;
"cloudformation deploy") name "$@" >>"$FAKE/stacks"; [ -z "$FAKE_SLOW" ] || exec sleep 40 ;;
"cloudformation delete-stack") n=$(name "$@"); grep -vx "$n" "$FAKE/stacks" >"$FAKE/rest"; mv "$FAKE/rest" "$FAKE/stacks" ;;
"cloudformation list-stack-resources") case "$*" in *AutoScalingGroup*) name "$@" ;; esac ;;
"sqs get-queue-attributes") [ -z "$FAKE_EXPIRED" ] || { rm -f "$FAKE/stacks"; exit 254; }; echo "${FAKE_LEFT:-0}	0" ;;
esac
`

// fakeMuster prints a template with parameters of all kinds, and runs as a controller until it is told to stop.
const fakeMuster = `#!/bin/sh
case $1 in
template) printf 'Parameters:\n  SubnetIds: {}\n  MinVCpus: {}\n  WorkCommand: {}\nResources:\n  Queue: {}\n' ;;
up) trap 'echo stopped >>"$FAKE/calls"; exit 0' TERM; while :; do sleep 0.1; done ;;
esac
`

// trial is a run of the script against the fake.
type trial struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
	out bytes.Buffer
}

func newTrial(t *testing.T, args ...string) *trial {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS != "linux" {
		t.Skip("the script needs bash on Linux")
	}
	r := &trial{t: t, dir: t.TempDir()}
	for name, text := range map[string]string{"aws": fakeAWS, "muster": fakeMuster, "stacks": "", "calls": ""} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Second)
	t.Cleanup(stop)
	r.cmd = exec.CommandContext(ctx, "bash", append([]string{"../../scripts/on-aws"}, args...)...)
	r.cmd.Env = append(os.Environ(), "PATH="+r.dir+":"+os.Getenv("PATH"), "FAKE="+r.dir,
		"MUSTER="+filepath.Join(r.dir, "muster"), "POLL=0.1")
	r.cmd.WaitDelay = 10 * time.Second
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	return r
}

// run runs the script and returns its exit code.
func (r *trial) run() int {
	r.t.Helper()
	err := r.cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	} else if err != nil {
		r.t.Fatal(err)
	}
	return 0
}

func (r *trial) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// stated are the options of a run of everything that needs no instances.
func stated(more ...string) []string {
	return append([]string{"--yes", "--account", "123456789012", "--region", "eu-west-1", "--subnets", "subnet-1",
		"--security-groups", "sg-1", "--repository", "worker", "--tag", "1"}, more...)
}

func TestATrialNeedsConsentAndItsAccount(t *testing.T) {
	for want, args := range map[string][]string{
		"say --yes": {"--account", "123456789012", "--region", "eu-west-1"},
		"allowed are the twelve digits of the account": {"--yes", "--region", "eu-west-1"},
		"the credentials are for the account":          {"--yes", "--account", "210987654321", "--region", "eu-west-1"},
		"that is above --ceiling":                      stated("--ceiling", "0"),
		"no set-up has all its options":                stated("--tag", ""),
		"--only: s0-group is no set-up":                stated("--only", "s2-service,s0-group"),
	} {
		r := newTrial(t, args...)
		if code := r.run(); code == 0 || !strings.Contains(r.out.String(), want) {
			t.Errorf("%q: exit code %d, printed %q, want %q", args, code, r.out.String(), want)
		}
		if calls := r.read("calls"); strings.Contains(calls, "deploy") || strings.Contains(calls, "delete") {
			t.Errorf("%q: called %s", args, calls)
		}
	}
}

func TestATrialMakesATableAndLeavesNothing(t *testing.T) {
	r := newTrial(t, stated("--only", "s2-service,s3-fargate")...)
	if code := r.run(); code != 0 {
		t.Fatalf("exit code %d: %s", code, &r.out)
	}
	out, calls := r.out.String(), r.read("calls")
	for _, want := range []string{
		"at most 0.44 USD in 90 minutes and 30 for removing", "s2-service", "s3-fargate", "done", "nothing is left",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("printed %s, want %q in it", out, want)
		}
	}
	if strings.Count(calls, "cloudformation deploy") != 2 || strings.Count(calls, "sqs send-message") != 24 {
		t.Errorf("called %s, want two stacks and 24 messages", calls)
	}
	// Nothing that looks like a failure is printed: AWS knows no stack that is removed, and no process was killed.
	if n := strings.Count(calls, "list-stack-resources --stack-name muster-trial-s2-service"); n != 2 {
		t.Errorf("the resources of a stack were listed %d times, want 2: before it is removed", n)
	}
	if strings.Contains(out, "Killed") {
		t.Errorf("printed %s", out)
	}
	// Only the fleet that AWS does not size has a controller, and it is stopped.
	if strings.Count(calls, "stopped") != 1 || r.read("stacks") != "" {
		t.Errorf("called %s, and %q is left", calls, r.read("stacks"))
	}
}

func TestAnInterruptedTrialLeavesNothing(t *testing.T) {
	r := newTrial(t, stated("--only", "s3-fargate")...)
	r.cmd.Env = append(r.cmd.Env, "FAKE_LEFT=5") // the queue never becomes empty
	r.interrupt(syscall.SIGTERM, "get-queue-attributes")
	if calls := r.read("calls"); r.read("stacks") != "" || !strings.Contains(calls, "stopped") ||
		!strings.Contains(calls, "delete-auto-scaling-group --force-delete") {
		t.Errorf("left %q after %s", r.read("stacks"), calls)
	}
}

// TestAKilledTrialLeavesNothing holds that a process beside the script removes things when the script cannot, and ends.
func TestAKilledTrialLeavesNothing(t *testing.T) {
	for after, environment := range map[string]string{
		"get-queue-attributes":  "FAKE_LEFT=5", // the queue never becomes empty
		"cloudformation deploy": "FAKE_SLOW=1", // the stack is not made yet
	} {
		r := newTrial(t, stated("--only", "s3-fargate")...)
		r.cmd.Env = append(r.cmd.Env, environment)
		// Wait returns when nothing has the output of the script any more, so when the other process has ended, too.
		r.cmd.WaitDelay = 40 * time.Second
		r.start(after)
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := r.cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
			t.Errorf("killed after %s: a process is left", after)
		}
		if out := r.out.String(); r.read("stacks") != "" || !strings.Contains(out, "the script was killed") ||
			!strings.Contains(out, "nothing is left") {
			t.Errorf("killed after %s: left %q, printed %s", after, r.read("stacks"), out)
		}
		if calls := r.read("calls"); strings.Contains(after, "queue") && !strings.Contains(calls, "stopped") {
			t.Errorf("killed after %s: the controller is left, calls %s", after, calls)
		}
	}
}

// start starts the script, and waits until it has made a call.
func (r *trial) start(after string) {
	r.t.Helper()
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	for range 600 {
		if strings.Contains(r.read("calls"), after) {
			return
		}
		select {
		case <-r.t.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// interrupt starts the script, interrupts it after a call, and waits until it has ended.
func (r *trial) interrupt(by syscall.Signal, after string) {
	r.t.Helper()
	r.start(after)
	if err := r.cmd.Process.Signal(by); err != nil {
		r.t.Fatal(err)
	}
	err := r.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 130 {
		r.t.Errorf("ended with %v, want exit code 130: %s", err, &r.out)
	}
}

func TestATrialIsInterruptedWhileAWSMakesAStack(t *testing.T) {
	r := newTrial(t, stated("--only", "s3-fargate")...)
	r.cmd.Env = append(r.cmd.Env, "FAKE_SLOW=1")
	began := time.Now()
	by := syscall.SIGHUP
	if signal.Ignored(by) { // the tests run below nohup, and a shell cannot take back what it was started with
		by = syscall.SIGTERM
	}
	r.interrupt(by, "cloudformation deploy")
	if took := time.Since(began); took > 20*time.Second || r.read("stacks") != "" {
		t.Errorf("left %q after %v, want nothing, without waiting for the stack", r.read("stacks"), took)
	}
}

func TestATrialRemovesItsStacksWhenNobodyReadsItsOutput(t *testing.T) {
	r := newTrial(t, stated("--only", "s3-fargate")...)
	r.cmd.Env = append(r.cmd.Env, "FAKE_LEFT=5")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd.Stdout = writer
	go func() {
		text := make([]byte, 4096)
		for seen := ""; !strings.Contains(seen, "trying"); {
			n, err := reader.Read(text)
			if err != nil {
				break
			}
			seen += string(text[:n])
		}
		reader.Close()
	}()
	r.interrupt(syscall.SIGTERM, "get-queue-attributes")
	writer.Close()
	if r.read("stacks") != "" {
		t.Errorf("left %q", r.read("stacks"))
	}
}

// Credentials that expire are an error of every call, and an empty answer.
func TestATrialThatCannotLookSaysSo(t *testing.T) {
	r := newTrial(t, stated("--only", "s3-fargate")...)
	r.cmd.Env = append(r.cmd.Env, "FAKE_EXPIRED=1")
	r.interrupt(syscall.SIGTERM, "get-queue-attributes")
	if out := r.out.String(); strings.Contains(out, "nothing is left") || !strings.Contains(out, "--remove") {
		t.Errorf("printed %s", out)
	}
}

func TestATrialTouchesNoStackThatWasThere(t *testing.T) {
	r := newTrial(t, stated("--only", "s3-fargate")...)
	if err := os.WriteFile(filepath.Join(r.dir, "stacks"), []byte("muster-trial-s3-fargate\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := r.run(); code == 0 || r.read("stacks") == "" || !strings.Contains(r.out.String(), "there already") {
		t.Errorf("exit code %d, left %q, printed %s", code, r.read("stacks"), &r.out)
	}
}

func TestLeftoversAreFoundByTheirTag(t *testing.T) {
	r := newTrial(t, "--yes", "--account", "123456789012", "--region", "eu-west-1", "--remove")
	if err := os.WriteFile(filepath.Join(r.dir, "stacks"), []byte("muster-trial-s0-group\nmuster-trial-s3-group\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if code := r.run(); code != 0 || r.read("stacks") != "" || !strings.Contains(r.out.String(), "nothing is left") {
		t.Errorf("exit code %d, left %q, printed %s", code, r.read("stacks"), &r.out)
	}
	if !strings.Contains(r.read("calls"), "Tags[?Key=='muster:trial']") {
		t.Errorf("called %s, want a search by tag", r.read("calls"))
	}
}
