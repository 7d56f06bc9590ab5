package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/muster-scale/muster/internal/descendants"
)

// launch starts a member, unless it was started before.
func (f *Fleet) launch(id string) error {
	if id != filepath.Base(id) || id == string(filepath.Separator) || strings.HasPrefix(id, ".") {
		return fmt.Errorf("start worker %q: its name is not a file name; allowed is a name without / that does not "+
			"begin with a dot", id)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known(id) {
		return nil
	}
	lock, err := os.OpenFile(f.path(id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("start worker %s: make its file: %w", id, err)
	}
	defer lock.Close() // the child keeps the lock through its own copy
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("start worker %s: lock its file: %w", id, err)
	}
	m := &member{id: id, launchedAt: time.Now().UTC(), child: true}
	cmd, err := f.start(id, lock)
	if err != nil {
		f.members[id] = m
		f.end(m, err.Error())
		return err
	}
	m.pid = cmd.Process.Pid
	f.members[id] = m
	if err := writeMember(lock, m); err != nil {
		// The process runs as our child. Only its adoption after a crash would fail.
		f.o.Logger.Warn("the file of a worker could not be written", "fleet", f.o.Fleet, "member", id, "error", err)
	}
	f.waits.Go(func() { f.wait(m, cmd) })
	return nil
}

func (f *Fleet) known(id string) bool {
	if f.members[id] != nil {
		return true
	}
	for _, e := range f.ended {
		if e.ID == id {
			return true
		}
	}
	return false
}

// start runs the program. Its output goes to a file: a pipe would break when the controller dies, and end the worker.
// The worker does not inherit the mark of the program in which this process may run, which would end it.
func (f *Fleet) start(id string, lock *os.File) (*exec.Cmd, error) {
	log, err := os.OpenFile(filepath.Join(f.o.Dir, id+logSuffix), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start worker %s: make its log: %w", id, err)
	}
	defer log.Close()
	cmd := exec.Command(f.argv[0], f.argv[1:]...)
	cmd.Dir = f.o.WorkDir
	cmd.Env = slices.DeleteFunc(f.env(id),
		func(v string) bool { return strings.HasPrefix(v, descendants.Variable+"=") })
	cmd.Env = append(cmd.Env, fmt.Sprintf("MUSTER_MEMBER_FD=%d", MemberFD))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker %s: %w", id, err)
	}
	return cmd, nil
}
