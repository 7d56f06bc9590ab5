package autoscaling_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/autoscaling"
)

// sharer names the directory in which this test program is a worker that shares a hook, holds it, and never finishes.
const sharer = "MUSTER_TEST_SHARER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(sharer); dir != "" {
		if _, err := autoscaling.Share(nil, dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("shares")
		select {} // until it is killed
	}
	os.Exit(m.Run())
}

// share has another worker of this process share the hook.
func share(t *testing.T, h *autoscaling.Hook, dir string) *autoscaling.Shared {
	t.Helper()
	s, err := autoscaling.Share(h, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hookOf returns the hook of the instance, and how often it was completed.
func hookOf(t *testing.T) (*autoscaling.Hook, func() int) {
	t.Helper()
	s, h := serve(t, autoscaling.Options{Instance: instance})
	s.group, s.hooks = "workers", map[string]string{"finish": ends}
	return h, func() (n int) {
		for _, a := range s.actions {
			if a == "CompleteLifecycleAction" {
				n++
			}
		}
		return n
	}
}

func TestTheLastOfSeveralWorkersCompletesTheHook(t *testing.T) {
	h, completed := hookOf(t)
	dir := filepath.Join(t.TempDir(), "new", "instance")
	all := []*autoscaling.Shared{share(t, h, dir), share(t, h, dir), share(t, h, dir)}
	for _, i := range []int{1, 0} {
		for range 2 { // asked again, it still is not the last
			if err := all[i].Complete(t.Context()); !errors.Is(err, worker.ErrOthersWork) {
				t.Errorf("worker %d: found %v, want that others work", i, err)
			}
		}
	}
	if n := completed(); n != 0 {
		t.Errorf("the hook was completed %d times while a worker needs the instance", n)
	}
	if err := all[2].Complete(t.Context()); err != nil || completed() != 1 {
		t.Errorf("the last one: %v, completed %d times", err, completed())
	}
	if err := all[0].Complete(t.Context()); err != nil {
		t.Errorf("one that waited for it: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%d files are left (%v)", len(left), err)
	}
}

func TestOneThatComesLateIsWaitedFor(t *testing.T) {
	h, completed := hookOf(t)
	dir := t.TempDir()
	first := share(t, h, dir)
	late := share(t, h, dir)
	if err := first.Complete(t.Context()); !errors.Is(err, worker.ErrOthersWork) {
		t.Errorf("found %v", err)
	}
	if err := late.Complete(t.Context()); err != nil || completed() != 1 {
		t.Errorf("found %v, completed %d times", err, completed())
	}
}

func TestAWorkerThatCrashesNeedsTheInstanceNoMore(t *testing.T) {
	h, completed := hookOf(t)
	dir := t.TempDir()
	first := share(t, h, dir)
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), sharer+"="+dir)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "shares\n" {
		t.Fatalf("found %q (%v)", line, err)
	}
	if err := first.Complete(t.Context()); !errors.Is(err, worker.ErrOthersWork) || completed() != 0 {
		t.Errorf("while the other lives: found %v, completed %d times", err, completed())
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	if err := first.Complete(t.Context()); err != nil || completed() != 1 {
		t.Errorf("once it has crashed: found %v, completed %d times", err, completed())
	}
}

func TestACrashWhileJoiningLeavesNothingInTheWay(t *testing.T) {
	h, completed := hookOf(t)
	dir := t.TempDir()
	for _, name := range []string{".new-1", "worker-1"} { // before and after its file had its name
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := share(t, h, dir)
	if _, err := os.Stat(filepath.Join(dir, "worker-1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of one that is gone is still there: files would add up (%v)", err)
	}
	if err := s.Complete(t.Context()); err != nil || completed() != 1 {
		t.Errorf("found %v, completed %d times", err, completed())
	}
}

func TestWorkersThatFinishAtOnceCompleteTheHook(t *testing.T) {
	h, completed := hookOf(t)
	dir := t.TempDir()
	var all []*autoscaling.Shared
	for range 8 {
		all = append(all, share(t, h, dir))
	}
	results := make(chan error)
	for _, s := range all {
		go func() { results <- s.Complete(t.Context()) }()
	}
	var found []error
	for range all {
		found = append(found, <-results)
	}
	// Whoever was told that others work asks again.
	if slices.ContainsFunc(found, func(err error) bool { return err != nil && !errors.Is(err, worker.ErrOthersWork) }) {
		t.Errorf("found %v", found)
	}
	if err := all[3].Complete(t.Context()); err != nil || completed() == 0 {
		t.Errorf("found %v, completed %d times", err, completed())
	}
}

func TestADirectoryThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := autoscaling.Share(nil, filepath.Join(file, "below")); err == nil ||
		!strings.Contains(err.Error(), "that its workers share") {
		t.Errorf("found %v", err)
	}
}
