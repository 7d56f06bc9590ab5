package descendants_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/muster-scale/muster/internal/descendants"
)

// The test binary plays the processes, too: modeVariable says what it does instead of testing, fileVariable where it
// leaves its id.
const (
	modeVariable = "DESCENDANTS_TEST_MODE"
	fileVariable = "DESCENDANTS_TEST_FILE"
)

const (
	// stays waits to be killed.
	stays = "stays"
	// leaves starts a process in a session of its own and ends.
	leaves = "leaves"
	// deep does the same, with one that leaves in turn after a while.
	deep = "deep"
	// short starts a process in a session of its own that ends at once, and ends before it.
	short = "short"
	quick = "quick"
	// parent adopts, starts one that stays within its own life, and waits to be killed.
	parent = "parent"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		os.Exit(play(mode))
	}
	os.Exit(m.Run())
}

func play(mode string) int {
	file := os.Getenv(fileVariable)
	switch mode {
	case stays:
		os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600)
		<-time.After(time.Minute)
	case leaves:
		return start(stays, file, true)
	case deep:
		if start(stays, file+".inner", true) != 0 {
			return 1
		}
		return start(stays, file, true)
	case short:
		return start(quick, file, true)
	case quick:
		os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600)
	case parent:
		if descendants.Adopt() != nil {
			return 1
		}
		return start(stays, file, false)
	}
	return 0
}

// start starts another process, apart in a session of its own, or else within the life of this one, which then waits.
func start(mode, file string, apart bool) int {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), modeVariable+"="+mode, fileVariable+"="+file)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: apart}
	if !apart {
		descendants.WithParent(c.SysProcAttr)
	}
	if c.Start() != nil {
		return 1
	}
	if !apart {
		<-time.After(time.Minute)
	}
	return 0
}

// eventually waits until is tells so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.After(20 * time.Second); !is(); {
		select {
		case <-deadline:
			t.Fatalf("it never came about that %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// left runs a program that leaves a process behind, and returns that one's id.
func left(t *testing.T, mode, mark string) int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), modeVariable+"="+mode, fileVariable+"="+file)
	if mark != "" {
		c.Env = append(c.Env, mark)
	}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	return pidIn(t, file)
}

func pidIn(t *testing.T, file string) (pid int) {
	t.Helper()
	eventually(t, "the process runs", func() bool {
		text, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(string(text))
		return pid > 1
	})
	return pid
}

// state is the state letter of a process; it is empty when there is none.
func state(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	letter, _, _ := strings.Cut(rest, " ")
	return letter
}

var unasked sync.Once

func TestWhatLeftItsGroupIsEndedByItsMark(t *testing.T) {
	unasked.Do(func() { // the tests may run more than once
		if descendants.Adopts() {
			t.Fatal("it adopts before it was asked to")
		}
	})
	if err := descendants.Adopt(); err != nil {
		t.Fatal(err)
	}
	defer descendants.EndAll()
	mine, other := descendants.Mark(), descendants.Mark()
	a, b, c := left(t, leaves, mine), left(t, leaves, other), left(t, leaves, "")
	nested := left(t, deep, mine)
	descendants.End(mine)
	for pid, want := range map[int]bool{a: false, b: true, c: true, nested: false} {
		if alive := state(pid) != ""; alive != want {
			t.Errorf("a process is there: %t (%s), want %t", alive, state(pid), want)
		}
	}
	descendants.End("")
	if state(b) != "" || state(c) == "" {
		t.Errorf("after the end of all that are marked: %q and %q", state(b), state(c))
	}
	own := exec.Command(os.Args[0])
	own.Env = append(os.Environ(), modeVariable+"="+stays, fileVariable+"="+filepath.Join(t.TempDir(), "own"))
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	descendants.End("")
	if state(own.Process.Pid) == "" {
		t.Error("a child without a mark was ended, which others may wait for")
	}
	descendants.EndAll()
	if state(c) != "" || state(own.Process.Pid) != "" {
		t.Errorf("after the end of all: %q and %q", state(c), state(own.Process.Pid))
	}
}

func TestZombiesOfOthersAreCollected(t *testing.T) {
	if err := descendants.Adopt(); err != nil {
		t.Fatal(err)
	}
	pid := left(t, short, "")
	var z descendants.Zombies
	eventually(t, "the process has ended", func() bool { return state(pid) == "Z" })
	if z.Collect(); state(pid) != "Z" {
		t.Error("it was collected at the first look: somebody may have been about to wait for it")
	}
	// The kernel may leave a child out of its list while others come and go.
	eventually(t, "a later look collects it", func() bool {
		z.Collect()
		return state(pid) == ""
	})
}

func TestAProcessThatIsKilledTakesItsProgramAlong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), modeVariable+"="+parent, fileVariable+"="+file)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := pidIn(t, file)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	eventually(t, "what it started is gone", func() bool { return state(pid) == "" || state(pid) == "Z" })
}
