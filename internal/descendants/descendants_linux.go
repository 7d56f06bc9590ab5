package descendants

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// patience bounds the wait for killed processes. One that hangs in the kernel is left to a later
	// call.
	patience = time.Second
	// execs bounds the wait for the environment of a process, in milliseconds.
	execs = 50
	// rounds bounds the depth of a tree of processes: the children of a killed process are adopted when
	// it is gone, and found in the next round.
	rounds = 1000
)

// Adopt makes this process the parent of every process below it whose own parent ends.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphaned processes: %w", err)
	}
	return nil
}

// Adopts says whether [Adopt] succeeded in this process.
func Adopts() bool {
	var on int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&on)), 0, 0, 0)
	return err == nil && on == 1
}

// WithParent makes the kernel kill the process that is started with these attributes when the starting
// thread ends, for whatever reason. The caller must keep that thread ([runtime.LockOSThread]) as long
// as the process runs.
func WithParent(a *syscall.SysProcAttr) {
	if Adopts() {
		a.Pdeathsig = syscall.SIGKILL
	}
}

// End kills the adopted processes with the given mark, or with any mark if it is empty, and those that
// they leave behind. Wait for the program's own process before. It does nothing without [Adopt].
func End(mark string) {
	if Adopts() {
		end(func(pid int) bool { return marked(environment(pid), mark) })
	}
}

// EndAll kills every child of this process. Use it at the end of a process that starts nothing any
// more.
func EndAll() {
	if Adopts() {
		end(func(int) bool { return true })
	}
}

// end kills the selected children, round by round, until none is left.
func end(which func(pid int) bool) {
	deadline := time.Now().Add(patience)
	for range rounds {
		var killed []int
		for _, pid := range children() {
			if which(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				killed = append(killed, pid)
			}
		}
		if len(killed) == 0 || !collect(killed, deadline) {
			return
		}
	}
}

// collect waits until the processes are gone. It returns false if that takes too long.
func collect(pids []int, deadline time.Time) bool {
	for _, pid := range pids {
		for {
			got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			if err == syscall.EINTR {
				continue
			}
			if got == pid || err != nil {
				break // collected here, or elsewhere in this process
			}
			if time.Now().After(deadline) {
				return false
			}
			time.Sleep(time.Millisecond)
		}
	}
	return true
}

// children returns the children of this process. Adopted ones are children of its first thread, started
// ones of the threads that started them.
func children() (pids []int) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	for _, task := range tasks {
		text, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			continue // the thread has ended, or the kernel lacks this file
		}
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// environment returns the initial environment of a process; empty for a zombie. While a process executes another
// program, the kernel shows an empty one. So an empty one is read again, unless the process has ended: without that, a
// process that a job left behind could escape.
func environment(pid int) string {
	for try := 0; ; try++ {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if s := state(pid); len(text) > 0 || s == "" || s == "Z" || try == execs {
			return string(text)
		}
		time.Sleep(time.Millisecond)
	}
}

// Zombies collects adopted children that ended by themselves. It remembers the zombies of its last
// call: if the calls are seconds apart, no other code in this process waits for one that it sees twice.
type Zombies struct{ seen map[int]bool }

// Collect collects the zombies that the last call saw too.
func (z *Zombies) Collect() {
	now := map[int]bool{}
	for _, pid := range children() {
		if !zombie(pid) {
			continue
		}
		if z.seen[pid] {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			continue
		}
		now[pid] = true
	}
	z.seen = now
}

func zombie(pid int) bool { return state(pid) == "Z" }

// state returns the letter that the kernel has for the state of a process; "" if there is no such process.
func state(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:min(1, len(rest))]
}
