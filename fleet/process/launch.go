package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	memberSuffix = ".member"
	logSuffix    = ".log"
	// MemberFD is the descriptor under which a worker finds the file whose lock says that it lives; the environment
	// variable MUSTER_MEMBER_FD names it too. Whoever inherits it keeps the member alive, so a worker must not hand it on.
	MemberFD = 3
	// logTail is how much of a failed worker's log is read for the reason.
	logTail = 4096
)

// memberFile is what a member's file holds.
type memberFile struct {
	ID         string    `json:"id"`
	PID        int       `json:"pid"`
	LaunchedAt time.Time `json:"launched_at"`
}

func (f *Fleet) path(id string) string { return filepath.Join(f.o.Dir, id+memberSuffix) }

// launch starts one member, unless it was started before.
func (f *Fleet) launch(id string) error {
	if id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return fmt.Errorf("start worker %q: its name is not a file name", id)
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
		// The process runs and is our child; only its adoption after a crash would fail.
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

// start runs the program. Its output goes to a file and not to a pipe, because a pipe would break, and end the worker, when
// the controller dies.
func (f *Fleet) start(id string, lock *os.File) (*exec.Cmd, error) {
	log, err := os.OpenFile(filepath.Join(f.o.Dir, id+logSuffix), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start worker %s: make its log: %w", id, err)
	}
	defer log.Close()
	cmd := exec.Command(f.o.Argv[0], f.o.Argv[1:]...)
	cmd.Dir = f.o.WorkDir
	cmd.Env = append(f.o.Env(id), fmt.Sprintf("MUSTER_MEMBER_FD=%d", MemberFD))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker %s: %w", id, err)
	}
	return cmd, nil
}

// wait collects the process when it ends, so that it never becomes a zombie.
func (f *Fleet) wait(m *member, cmd *exec.Cmd) {
	err := cmd.Wait()
	failure := ""
	if err != nil {
		failure = err.Error()
		if line := f.lastLine(m.id); line != "" {
			failure += ": " + line
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(m, failure)
}

// forget removes the file of a member, and its log unless the log says why it failed.
func (f *Fleet) forget(id string, failed bool) {
	os.Remove(f.path(id))
	if !failed {
		os.Remove(filepath.Join(f.o.Dir, id+logSuffix))
		return
	}
	f.trimLogs()
}

// trimLogs keeps the logs of the last twenty failures.
func (f *Fleet) trimLogs() {
	const keep = 20
	logs, _ := f.files(logSuffix)
	dead := slices.DeleteFunc(logs, func(id string) bool { return f.members[id] != nil })
	for _, id := range dead[:max(0, len(dead)-keep)] {
		os.Remove(filepath.Join(f.o.Dir, id+logSuffix))
	}
}

// files returns the names, less the suffix, of the files in the fleet's directory that end in it, sorted.
func (f *Fleet) files(suffix string) ([]string, error) {
	entries, err := os.ReadDir(f.o.Dir)
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), suffix); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

func (f *Fleet) lastLine(id string) string {
	log, err := os.Open(filepath.Join(f.o.Dir, id+logSuffix))
	if err != nil {
		return ""
	}
	defer log.Close()
	if end, err := log.Seek(0, io.SeekEnd); err == nil {
		log.Seek(max(0, end-logTail), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(log, logTail))
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return strings.ToValidUTF8(string(lines[len(lines)-1]), "?")
}

func writeMember(file *os.File, m *member) error {
	text, err := json.Marshal(memberFile{ID: m.id, PID: m.pid, LaunchedAt: m.launchedAt})
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	return err
}

// readMember reads a member's file and tells whether its process lives.
func readMember(path string) (*member, bool, error) {
	id := strings.TrimSuffix(filepath.Base(path), memberSuffix)
	alive, err := held(path)
	if err != nil {
		return nil, false, err
	}
	m := &member{id: id}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("read the file of worker %s: %w", id, err)
	}
	var file memberFile
	if json.Unmarshal(text, &file) == nil {
		m.pid, m.launchedAt = file.PID, file.LaunchedAt
	}
	// A file without a process id belongs to a start that was cut short; a living process behind it is listed all the
	// same, only it cannot be signalled.
	return m, alive, nil
}

// held tells whether a process holds the lock of a member's file.
func held(path string) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the worker of %s: %w", path, err)
	}
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the worker of %s: try its lock: %w", path, err)
	}
	return false, nil
}
