package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
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
	// The text goes into the history and onto terminals: what steers a terminal has no business there.
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(string(lines[len(lines)-1]), "?"))
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
