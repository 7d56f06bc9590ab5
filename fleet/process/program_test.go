package process_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/fleet/process"
	"github.com/muster-scale/muster/internal/descendants"

	"github.com/muster-scale/muster/worker/execution"
)

// The test binary is the workers' program too: modeVariable says what it does instead of testing.
const (
	modeVariable  = "PROCESS_TEST_MODE"
	dirVariable   = "PROCESS_TEST_DIR"
	childVariable = "PROCESS_TEST_CHILD_MODE"
	memberName    = "PROCESS_TEST_MEMBER"
)

// What a worker of a test does.
const (
	untilTerm  = "sleeps until SIGTERM"
	failing    = "exits 3 with a last line on stderr"
	ignoring   = "ignores SIGTERM"
	withChild  = "starts a child that ignores SIGTERM, and sleeps until SIGTERM"
	stubborn   = "starts a child that ignores SIGTERM, and ignores SIGTERM"
	keepsLock  = "keeps the lock to itself, then does the same"
	controller = "is a controller: starts the members a and b, and waits to be killed"
	orphan     = "waits for SIGKILL"
)

func TestMain(m *testing.M) {
	mode := os.Getenv(modeVariable)
	if mode == "" {
		os.Exit(m.Run())
	}
	os.Exit(act(mode))
}

// act is a worker's program. What it does ends by itself after a while, should a test fail to end it.
func act(mode string) int {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	tooLong := time.After(time.Minute)
	switch mode {
	case failing:
		fmt.Fprintln(os.Stderr, "starting\nno such queue")
		return 3
	case controller:
		f, err := process.New(options(os.Getenv(dirVariable), os.Getenv(childVariable)))
		if err == nil {
			err = f.SetDesired(context.Background(), muster.Order{ID: "1", Desired: 2, Launch: []string{"a", "b"}})
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("started")
		<-tooLong
	case ignoring, orphan:
		fmt.Println("up")
		<-tooLong
	case keepsLock, withChild, stubborn:
		if mode == keepsLock {
			if err := execution.KeepMemberLock(); err != nil {
				fmt.Println(err)
				return 1
			}
		}
		if err := startChild(); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	if mode == stubborn {
		terms = nil
	}
	fmt.Println("up")
	select {
	case <-terms:
	case <-tooLong:
	}
	return 0
}

// startChild starts a process that outlives its parent, and leaves its process id in a file.
func startChild() error {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), modeVariable+"="+orphan, descendants.Mark())
	if os.Getenv(modeVariable) != keepsLock {
		child.ExtraFiles = []*os.File{os.NewFile(process.MemberFD, "lock")}
	}
	if err := child.Start(); err != nil {
		return err
	}
	name := filepath.Join(os.Getenv(dirVariable), os.Getenv(memberName)+".child")
	return os.WriteFile(name, []byte(strconv.Itoa(child.Process.Pid)), 0o600)
}

func options(dir, mode string) process.Options {
	return process.Options{
		Fleet: "f", Dir: dir, Argv: []string{os.Args[0]}, Logger: slog.New(slog.DiscardHandler),
		Env: func(member string) []string {
			// The race detector would let every worker linger for a second before it exits.
			return append(os.Environ(), "GORACE=atexit_sleep_ms=0", modeVariable+"="+mode, dirVariable+"="+dir,
				memberName+"="+member)
		},
	}
}

// open opens the fleet in dir, and ends all of its members with the test.
func open(t *testing.T, o process.Options) *process.Fleet {
	t.Helper()
	f, err := process.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(ended()) })
	return f
}

// ended returns a context that has ended: who gets it waits for nothing.
func ended() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return ctx
}

func launch(t *testing.T, f *process.Fleet, ids ...string) {
	t.Helper()
	if err := f.SetDesired(t.Context(), muster.Order{ID: "1", Desired: len(ids), Launch: ids}); err != nil {
		t.Fatal(err)
	}
}

// list returns the living and the ended members as "a, b!failure".
func list(t *testing.T, f *process.Fleet) string {
	t.Helper()
	l, err := f.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range l.Members {
		if m.Ended {
			m.ID += "!" + m.Failure
		}
		all = append(all, m.ID)
	}
	return strings.Join(all, ", ")
}

// eventually fails the test unless the condition comes true within ten seconds.
func eventually(t *testing.T, what string, true func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !true() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after 10 s it is not yet true that %s", what)
		}
	}
}

func listed(t *testing.T, f *process.Fleet, want string) {
	t.Helper()
	var got string
	eventually(t, fmt.Sprintf("the fleet lists %q", want), func() bool { got = list(t, f); return got == want })
}

// up waits until the programs of the named members run: until then SIGTERM ends them whatever they mean to do about it.
func up(t *testing.T, dir string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		eventually(t, id+" is up", func() bool {
			text, _ := os.ReadFile(filepath.Join(dir, id+".log"))
			return strings.HasSuffix(string(text), "up\n")
		})
	}
}

// number reads a process id from a file that a member's program wrote.
func number(t *testing.T, path string) (pid int) {
	t.Helper()
	eventually(t, path+" holds a process id", func() bool {
		text, _ := os.ReadFile(path)
		pid, _ = strconv.Atoi(string(text))
		return pid > 1
	})
	return pid
}

// locked tells whether a process holds the lock of a member.
func locked(t *testing.T, dir, id string) bool {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, id+".member"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// runs tells whether a process runs: a zombie does not.
func runs(pid int) bool {
	state := processState(pid)
	return state != "" && state != "Z"
}

// processState returns the state letter of a process, and nothing when there is none.
func processState(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}
