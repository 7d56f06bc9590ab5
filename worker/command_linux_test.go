package worker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// adopting makes this process the parent of what its commands leave behind, for a test.
func adopting(t *testing.T) {
	t.Helper()
	if err := descendants.Adopt(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
}

// leftBehind reads the id of a process that a command left behind.
func leftBehind(t *testing.T, file string) (pid int) {
	t.Helper()
	for deadline := time.After(20 * time.Second); ; {
		text, _ := os.ReadFile(file)
		if pid, _ = strconv.Atoi(strings.TrimSpace(string(text))); pid > 1 {
			return pid
		}
		select {
		case <-deadline:
			t.Fatal("the process never ran")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func alive(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest != "" && rest[0] != 'Z'
}

const leaver = `setsid sh -c 'echo $$ >"$0"; exec sleep 60' "$0" >/dev/null 2>&1 &
until [ -s "$0" ]; do sleep 0.01; done`

func TestWhatLeftTheGroupOfACommandIsEndedWithIt(t *testing.T) {
	for _, row := range []struct {
		name   string
		script string
		cancel bool
	}{
		{"after it succeeded", leaver, false},
		{"after it failed", leaver + "; exit 1", false},
		{"when it is ended", leaver + "; sleep 60", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			adopting(t)
			file := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := make(chan error, 1)
			go func() {
				done <- execution.Command{Argv: []string{"/bin/sh", "-c", row.script, file}}.Run(ctx,
					worker.Message{ID: "m"})
			}()
			pid := leftBehind(t, file)
			if row.cancel {
				cancel(worker.ErrLeaseLost)
			}
			<-done
			if alive(pid) {
				t.Error("a process that the command left behind goes on")
			}
		})
	}
}

func TestACommandLeavesTheProcessesOfOthersAlone(t *testing.T) {
	adopting(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- execution.Command{Argv: []string{"/bin/sh", "-c", leaver + "; sleep 60",
			filepath.Join(dir, "other")}}.Run(ctx, worker.Message{ID: "m"})
	}()
	other := leftBehind(t, filepath.Join(dir, "other"))
	// Even one for the same message: a worker may receive it again while the work before is being ended.
	if err := (execution.Command{Argv: []string{"/bin/sh", "-c", leaver, filepath.Join(dir, "mine")}}).Run(t.Context(),
		worker.Message{ID: "m"}); err != nil {
		t.Fatal(err)
	}
	if mine := leftBehind(t, filepath.Join(dir, "mine")); alive(mine) || !alive(other) {
		t.Errorf("its own process goes on: %t; that of another command: %t", alive(mine), alive(other))
	}
	cancel(worker.ErrLeaseLost)
	<-done
}

func TestWhatLeftTheGroupOfAProgramIsEndedWithIt(t *testing.T) {
	adopting(t)
	file := filepath.Join(t.TempDir(), "pid")
	lines, err := execution.StartLines(t.Context(), execution.LinesOptions{
		Command: execution.Command{Argv: []string{"/bin/sh", "-c",
			leaver + `; read hello; echo '{"type":"ready","protocol":1}'; cat >/dev/null`, file}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pid := leftBehind(t, file)
	if !alive(pid) {
		t.Error("it was ended while the program runs")
	}
	lines.Close()
	if alive(pid) {
		t.Error("a process that the program left behind goes on")
	}
}

// TestWhatIsBeingExecutedWhenACommandEndsIsEndedWithIt: in the middle of an exec a process has no environment that
// tells whose it is.
func TestWhatIsBeingExecutedWhenACommandEndsIsEndedWithIt(t *testing.T) {
	adopting(t)
	dir := t.TempDir()
	for i := range 100 {
		// The script ends while what it leaves behind executes one program after the other.
		err := execution.Command{Argv: []string{"/bin/sh", "-c",
			`setsid sh -c 'echo $$ >"$0"; exec env env env env env env sleep 60' "$0" >/dev/null 2>&1 &
until [ -s "$0" ]; do :; done`, filepath.Join(dir, strconv.Itoa(i))}}.Run(t.Context(), worker.Message{ID: "m"})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		if pid := leftBehind(t, filepath.Join(dir, strconv.Itoa(i))); alive(pid) {
			t.Errorf("process %d of command %d goes on", pid, i)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
