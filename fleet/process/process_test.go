package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/fleet/process"
	"github.com/muster-scale/muster/mustertest"
)

func TestFleetKeepsTheContract(t *testing.T) {
	mustertest.FleetConformance(t, func(t *testing.T) muster.Fleet { return open(t, options(t.TempDir(), untilTerm)) })
}

func TestAMemberLivesFromItsOrderToItsEnd(t *testing.T) {
	dir := t.TempDir()
	f := open(t, options(dir, untilTerm))
	before := time.Now()
	launch(t, f, "a", "b")
	l, err := f.Members(t.Context())
	if err != nil || len(l.Members) != 2 {
		t.Fatalf("found %+v, %v; want two members", l, err)
	}
	for _, m := range l.Members {
		if m.Ended || m.LaunchedAt.Before(before.Add(-time.Second)) || m.LaunchedAt.After(l.At) {
			t.Errorf("found %+v in the listing of %v", m, l.At)
		}
	}
	up(t, dir, "a", "b")
	if err := f.End(t.Context(), []string{"a", "never started"}); err != nil {
		t.Fatal(err)
	}
	listed(t, f, "b, a!")
	if err := f.End(t.Context(), []string{"a"}); err != nil {
		t.Errorf("ending what has ended: %v", err)
	}
	if names := files(t, dir); names != "b.log b.member" {
		t.Errorf("the orderly end left the files %s", names)
	}
	launch(t, f, "a")
	if got := list(t, f); got != "b, a!" {
		t.Errorf("the order given again after the end started it again: %s", got)
	}
}

func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestAFailedMemberSaysWhy(t *testing.T) {
	dir := t.TempDir()
	f := open(t, options(dir, failing))
	launch(t, f, "a")
	listed(t, f, "a!exit status 3: no such queue")
	if names := files(t, dir); names != "a.log" {
		t.Errorf("found the files %s, want the log to stay for a person to read", names)
	}
}

func TestAProgramThatDoesNotExistFailsTheOrderAndTheMember(t *testing.T) {
	o := options(t.TempDir(), untilTerm)
	o.Argv = []string{filepath.Join(o.Dir, "no-such-program")}
	f := open(t, o)
	err := f.SetDesired(t.Context(), muster.Order{ID: "1", Desired: 2, Launch: []string{"a", "b"}})
	if err == nil || strings.Count(err.Error(), "no-such-program: no such file or directory") != 2 {
		t.Errorf("found error %v, want one that names the program for each member", err)
	}
	if got := list(t, f); !strings.HasPrefix(got, "a!start worker a: ") ||
		!strings.Contains(got, "b!start worker b: ") {
		t.Errorf("found %s, want both to have failed", got)
	}
}

func TestNamesThatAreNotFileNamesStartNothing(t *testing.T) {
	for _, name := range []string{"", ".", "..", "/", "//", "a/b", "../a", "/a", "a/", ".hidden", "a\x00b",
		strings.Repeat("x", 300)} {
		t.Run(fmt.Sprintf("%.20q", name), func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, options(filepath.Join(dir, "members"), untilTerm))
			err := f.SetDesired(t.Context(), muster.Order{ID: "1", Desired: 2, Launch: []string{name, "good"}})
			if err == nil {
				t.Error("the order was taken")
			}
			if got := list(t, f); got != "good" {
				t.Errorf("the fleet lists %q, want the good one alone", got)
			}
			if got := files(t, dir); got != "members" {
				t.Errorf("found the files %s outside of the fleet's directory", got)
			}
		})
	}
}

func TestEndAsksAndThenKillsTheWholeGroup(t *testing.T) {
	dir := t.TempDir()
	o := options(dir, withChild)
	env := o.Env
	o.Env = func(member string) []string {
		if member == "stubborn" {
			return append(env(member), modeVariable+"="+stubborn)
		}
		return env(member)
	}
	f := open(t, o)
	launch(t, f, "polite", "stubborn")
	up(t, dir, "polite", "stubborn")
	child := number(t, filepath.Join(dir, "stubborn.child"))
	t.Cleanup(func() { syscall.Kill(number(t, filepath.Join(dir, "polite.child")), syscall.SIGKILL) })
	if !runs(child) {
		t.Fatal("the child of the worker does not run")
	}
	if err := f.End(t.Context(), []string{"polite"}); err != nil {
		t.Fatal(err)
	}
	listed(t, f, "stubborn, polite!")
	if !runs(number(t, filepath.Join(dir, "polite.child"))) {
		t.Error("the worker's child was ended although the worker did as it was asked")
	}
	if err := f.End(ended(), []string{"stubborn"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child is killed with its worker", func() bool { return !runs(child) })
}

func TestAReleasedMemberThatDoesNotGoIsKilledAfterAWhile(t *testing.T) {
	dir := t.TempDir()
	f := open(t, options(dir, ignoring))
	launch(t, f, "a", "b")
	up(t, dir, "a", "b")
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if err := f.End(ctx, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() == nil {
		t.Error("it was killed before its time was over")
	}
	listed(t, f, "b, a!signal: killed: up")
}

func TestCloseLetsWorkersFinishAndKillsTheRestAtItsDeadline(t *testing.T) {
	tests := []struct {
		name, mode string
		killed     int
	}{
		{"all go when they are asked", untilTerm, 0},
		{"none goes when it is asked", ignoring, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, options(dir, test.mode))
			launch(t, f, "a", "b")
			up(t, dir, "a", "b")
			wait := 10 * time.Second
			if test.killed > 0 {
				wait = 100 * time.Millisecond
			}
			ctx, stop := context.WithTimeout(t.Context(), wait)
			defer stop()
			if killed := f.Close(ctx); killed != test.killed {
				t.Errorf("%d were killed, want %d", killed, test.killed)
			}
			if got := list(t, f); strings.Count(got, "!") != 2 {
				t.Errorf("after Close the fleet lists %q", got)
			}
			noZombies(t)
		})
	}
}

// noZombies fails the test if a process that this one started has ended and was not collected.
func noZombies(t *testing.T) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(tasks) == 0 {
		t.Skip("this system does not list child processes")
	}
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, pid := range strings.Fields(string(text)) {
			if n, _ := strconv.Atoi(pid); processState(n) == "Z" {
				t.Errorf("process %d is a zombie", n)
			}
		}
	}
}

// crash runs a controller in a process of its own, which starts the members a and b in dir, and kills it.
func crash(t *testing.T, dir, mode string) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), modeVariable+"="+controller, dirVariable+"="+dir, childVariable+"="+mode)
	read, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(read).ReadString('\n'); line != "started\n" {
		t.Errorf("the controller says %q", line)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait()
}

func pidOf(t *testing.T, dir, id string) (pid int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, id+".member"))
	var m struct{ PID int }
	if err != nil || json.Unmarshal(text, &m) != nil || m.PID <= 1 {
		t.Fatalf("the file of %s holds %q, %v", id, text, err)
	}
	return m.PID
}

func TestACrashOfTheControllerCostsNoWorker(t *testing.T) {
	dir := t.TempDir()
	crash(t, dir, untilTerm)
	up(t, dir, "a", "b")
	a, b := pidOf(t, dir, "a"), pidOf(t, dir, "b")
	if err := syscall.Kill(b, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b is gone", func() bool { return !runs(b) && !locked(t, dir, "b") })

	f := open(t, options(dir, untilTerm))
	l, err := f.Members(t.Context())
	if err != nil || len(l.Members) != 1 || l.Members[0].ID != "a" || l.Members[0].LaunchedAt.IsZero() {
		t.Fatalf("found %+v, %v; want a alone, with the time of its launch", l, err)
	}
	if got := files(t, dir); got != "a.log a.member" {
		t.Errorf("found the files %s, want the dead one's gone", got)
	}
	launch(t, f, "a")
	if !runs(a) || pidOf(t, dir, "a") != a {
		t.Error("the order given again started the adopted member again")
	}
	if err := f.End(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	listed(t, f, "a!")
	eventually(t, "the adopted member has ended", func() bool { return !runs(a) })
}

func TestCloseKillsAdoptedMembersToo(t *testing.T) {
	dir := t.TempDir()
	crash(t, dir, ignoring)
	up(t, dir, "a", "b")
	a, b := pidOf(t, dir, "a"), pidOf(t, dir, "b")
	f := open(t, options(dir, ignoring))
	if killed := f.Close(ended()); killed != 2 {
		t.Errorf("%d were killed, want 2", killed)
	}
	eventually(t, "both have ended", func() bool { return !runs(a) && !runs(b) })
}

func TestAMemberLivesAsLongAsItsLock(t *testing.T) {
	tests := []struct {
		name, mode, want string
	}{
		{"a worker that keeps its lock to itself is gone when it ends, whatever it started", keepsLock, ""},
		{"a worker that hands its lock on lives on in what it started", withChild, "a, b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			crash(t, dir, test.mode)
			up(t, dir, "a", "b")
			for _, id := range []string{"a", "b"} {
				pid, child := pidOf(t, dir, id), number(t, filepath.Join(dir, id+".child"))
				t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				eventually(t, id+" is gone",
					func() bool { return !runs(pid) && locked(t, dir, id) == (test.want != "") })
				if !runs(child) {
					t.Fatal("what the worker started ended with it")
				}
			}
			f := open(t, options(dir, test.mode))
			if got := list(t, f); got != test.want {
				t.Errorf("the fleet lists %q, want %q", got, test.want)
			}
		})
	}
}

func TestAMemberFileWithoutAProcessIDIsListedWhileItsLockIsHeld(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"dead", "held"} {
		if err := os.WriteFile(filepath.Join(dir, id+".member"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.Open(filepath.Join(dir, "held.member"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	f := open(t, options(dir, untilTerm))
	if got := list(t, f); got != "held" {
		t.Errorf("the fleet lists %q, want the held one alone", got)
	}
	if killed := f.Close(ended()); killed != 0 {
		t.Errorf("Close says that it killed %d; nobody knows the process", killed)
	}
	if got := list(t, f); got != "held" {
		t.Errorf("the fleet lists %q, want what lives still", got)
	}
	lock.Close()
	listed(t, f, "held!")
}

func TestTheLogsOfTheLatestFailuresStay(t *testing.T) {
	dir := t.TempDir()
	for i := range 25 {
		path := filepath.Join(dir, fmt.Sprintf("old-%d.log", i))
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(time.Duration(i-100) * time.Minute)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	o := options(dir, failing)
	f := open(t, o)
	launch(t, f, "a")
	listed(t, f, "a!exit status 3: no such queue")
	got := " " + files(t, dir) + " "
	for name, want := range map[string]bool{"a": true, "old-5": false, "old-6": true, "old-10": true, "old-24": true,
		"old-0": false} {
		if strings.Contains(got, " "+name+".log ") != want {
			t.Errorf("of the failures before, found the logs %s; the latest twenty are to stay", got)
		}
	}
}

func TestWhatCannotBeOpenedIsRefused(t *testing.T) {
	occupied := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		o    process.Options
		says string
	}{
		{"no program", process.Options{Fleet: "f", Dir: t.TempDir()}, "program is missing"},
		{"a file where the directory should be", process.Options{Fleet: "f", Dir: occupied, Argv: []string{"x"}},
			"make the directory"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.o.Logger = slog.New(slog.DiscardHandler)
			if _, err := process.New(test.o); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("found error %v, want one that says %q", err, test.says)
			}
		})
	}
}

func TestAnOrderWhoseContextEndedStartsNothing(t *testing.T) {
	f := open(t, options(t.TempDir(), untilTerm))
	if err := f.SetDesired(ended(), muster.Order{ID: "1", Desired: 1, Launch: []string{"a"}}); err == nil {
		t.Error("no error")
	}
	if got := list(t, f); got != "" {
		t.Errorf("the fleet lists %q", got)
	}
}
