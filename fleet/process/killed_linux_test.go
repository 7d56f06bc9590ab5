package process_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-scale/muster/internal/descendants"
)

// A worker that is killed leaves the program that it ran to the controller, which ends it.
func TestWhatAKilledWorkerRanIsEnded(t *testing.T) {
	if err := descendants.Adopt(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var z descendants.Zombies
		z.Collect()
		z.Collect()
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	})
	dir := t.TempDir()
	o := options(dir, keepsLock)
	env, mark := o.Env, descendants.Mark()
	o.Env = func(member string) []string { return append(env(member), mark) } // as if this ran within a job
	f := open(t, o)
	launch(t, f, "a", "b")
	up(t, dir, "a", "b")
	child, other := number(t, filepath.Join(dir, "a.child")), number(t, filepath.Join(dir, "b.child"))
	if err := syscall.Kill(pidOf(t, dir, "a"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what the killed worker ran is ended", func() bool { return !runs(child) })
	listed(t, f, "b, a!signal: killed: up")
	if !runs(other) {
		t.Error("what the other worker runs was ended, too")
	}
}
