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
	// patience bounds how long killed processes are waited for: one that hangs in the kernel is left to a later call.
	patience = time.Second
	// rounds bounds how deep a tree of processes is followed: the children of a killed process come to us when it is
	// gone.
	rounds = 1000
)

// Adopt makes this process the parent of every process below it whose own parent has ended.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of processes that are left behind: %w", err)
	}
	return nil
}

// Adopts tells whether [Adopt] was called in this process, successfully.
func Adopts() bool {
	var on int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&on)), 0, 0, 0)
	return err == nil && on == 1
}

// WithParent has the kernel kill the process that is started with these attributes when the thread that starts it ends,
// however it does. The caller must keep to that thread ([runtime.LockOSThread]) as long as the process runs.
func WithParent(a *syscall.SysProcAttr) {
	if Adopts() {
		a.Pdeathsig = syscall.SIGKILL
	}
}

// End kills the processes with the given mark, or with any mark where it is empty, that were left to this process, and
// those that they leave in turn. A program's own process must be waited for before. It does nothing without [Adopt].
func End(mark string) {
	if Adopts() {
		end(func(pid int) bool { return marked(environment(pid), mark) })
	}
}

// EndAll kills every child of this process. It is for the end of a process that starts nothing any more.
func EndAll() {
	if Adopts() {
		end(func(int) bool { return true })
	}
}

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

// collect waits until the processes are gone, and returns false when that takes too long.
func collect(pids []int, deadline time.Time) bool {
	for _, pid := range pids {
		for {
			got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			if err == syscall.EINTR {
				continue
			}
			if got == pid || err != nil {
				break // it is collected, or was by somebody else
			}
			if time.Now().After(deadline) {
				return false
			}
			time.Sleep(time.Millisecond)
		}
	}
	return true
}

// children returns the processes whose parent is this one. Those that were left to it are children of its first thread;
// those that it started are children of the threads that did.
func children() (pids []int) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	for _, task := range tasks {
		text, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			continue // a thread that has ended, or a kernel that does not tell
		}
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// environment is that with which a process started; it is empty for a zombie.
func environment(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return string(text)
}

// Zombies collects children that ended by themselves after they had been left to this process. It holds those that it
// saw before: one that is a zombie at two calls in a row is nobody else's to wait for, if the calls are seconds apart.
type Zombies struct{ seen map[int]bool }

// Collect looks for zombies and collects those of the last call.
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

func zombie(pid int) bool {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "Z")
}
