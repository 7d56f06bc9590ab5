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
	"unicode"

	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/internal/joblog"
)

const (
	// memberSuffix and logSuffix end the names of the two files of a member.
	memberSuffix = ".member"
	logSuffix    = ".log"
	// MemberFD is the descriptor of a worker's member file, whose lock shows that the worker lives. The environment
	// variable MUSTER_MEMBER_FD names it, too. A process that inherits it keeps the member alive, so a worker must not
	// pass it on.
	MemberFD = 3
	// logTail is how much of a failed worker's log is searched for the reason, in bytes.
	logTail = 4096
	// collectMost is how much output is collected at once, from its end. A process prints more between two readings
	// only if something is wrong with it.
	collectMost = 256 << 10
)

// memberFile is the content of a member's file.
type memberFile struct {
	ID         string    `json:"id"`
	PID        int       `json:"pid"`
	LaunchedAt time.Time `json:"launched_at"`
}

// path returns the path of a member's file.
func (f *Fleet) path(id string) string { return filepath.Join(f.o.Dir, id+memberSuffix) }

// forget removes the file of a member, and its log unless that holds the uncollected reason of a failure.
func (f *Fleet) forget(id string, failed bool) {
	os.Remove(f.path(id))
	if !failed || f.o.Printed != nil {
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
	written := make(map[string]time.Time, len(dead))
	for _, id := range dead {
		if stat, err := os.Stat(filepath.Join(f.o.Dir, id+logSuffix)); err == nil {
			written[id] = stat.ModTime()
		}
	}
	slices.SortStableFunc(dead, func(a, b string) int { return written[a].Compare(written[b]) })
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

// wait waits for the process to end, so that it never becomes a zombie. Children of a killed worker become children of
// this process, where the system supports that. They are ended, because the worker's messages will be received again.
func (f *Fleet) wait(m *member, cmd *exec.Cmd) {
	err := cmd.Wait()
	descendants.End("")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.collect(m)
	failure := ""
	if err != nil {
		failure = err.Error()
		if line := f.lastLine(m); line != "" {
			failure += ": " + line
		}
	}
	f.end(m, failure)
}

// collect passes on the output of a member since the last time, and empties its file. A line that is printed between
// reading and emptying is lost. The caller holds the lock, unless f is still private.
func (f *Fleet) collect(m *member) {
	if f.o.Printed == nil {
		return
	}
	path := filepath.Join(f.o.Dir, m.id+logSuffix)
	if stat, err := os.Stat(path); err != nil || stat.Size() == 0 {
		return // no output, or the process has ended and was collected
	}
	log, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		f.o.Logger.Warn("reading a worker's output failed", "fleet", f.o.Fleet, "member", m.id, "error", err)
		return
	}
	defer log.Close()
	text, left := readEnd(log, collectMost)
	if len(text) == 0 {
		return
	}
	lines := joblog.Lines(text)
	if left > 0 {
		lines[0] = fmt.Sprintf("%d bytes are left out here", left+int64(len(lines[0])))
	}
	for _, line := range slices.Backward(lines) {
		if m.last = strings.TrimSpace(line); m.last != "" {
			break
		}
	}
	f.o.Printed(m.id, lines)
	if err := log.Truncate(0); err != nil {
		f.o.Logger.Warn("emptying a worker's output file failed", "fleet", f.o.Fleet, "member", m.id,
			"error", err)
	}
}

// readEnd returns the end of a file, and the number of bytes before it.
func readEnd(file *os.File, most int64) (text []byte, left int64) {
	end, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		left = max(0, end-most)
		_, err = file.Seek(left, io.SeekStart)
	}
	if err != nil {
		return nil, 0
	}
	text, _ = io.ReadAll(io.LimitReader(file, most))
	return text, left
}

// lastLine is the last output line of a member. It goes into the history and onto terminals, so control characters are
// replaced.
func (f *Fleet) lastLine(m *member) string {
	last := m.last
	if f.o.Printed == nil {
		log, err := os.Open(filepath.Join(f.o.Dir, m.id+logSuffix))
		if err != nil {
			return ""
		}
		defer log.Close()
		text, _ := readEnd(log, logTail)
		if lines := joblog.Lines(bytes.TrimSpace(text)); len(lines) > 0 {
			last = lines[len(lines)-1]
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, last[:min(len(last), logTail)])
}

// writeMember writes the content of a member's file over its old content. It must not replace the file, because the
// lock belongs to the file and not to its name.
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
	// A file without a process id belongs to an interrupted start. Its process, if it lives, is listed, but cannot be
	// signalled.
	return m, alive, nil
}

// held tells whether a process holds the lock of a member's file.
func held(path string) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find the worker of %s: %w", path, err)
	}
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("find the worker of %s: try its lock: %w", path, err)
	}
	return false, nil
}
