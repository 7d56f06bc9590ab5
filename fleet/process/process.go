package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/descendants"
)

// Options describe the processes of a fleet.
type Options struct {
	// Fleet is the fleet's name.
	Fleet string
	// Dir holds the member files. It is created if missing, and no other fleet may use it.
	Dir string
	// Argv is the program of a worker and its arguments. There is no shell.
	Argv []string
	// WorkDir is the directory the program runs in; empty means the current one.
	WorkDir string
	// Env returns the environment of the named member, as "NAME=value".
	Env func(member string) []string
	// Printed is called with the output lines of a member's own process, and must not block. When it is nil, they stay
	// in the member's file until it ends without error.
	Printed func(member string, lines []string)
	Logger  *slog.Logger
}

// Fleet is a fleet of local processes. It implements [muster.Fleet] and [muster.Releaser].
type Fleet struct {
	o Options

	mu sync.Mutex
	// argv and env are for members that start from now on.
	argv []string
	env  func(member string) []string
	// members are alive as far as is known, by id. ended are the latest members that have ended, oldest first.
	members map[string]*member
	ended   []muster.Member
	// waits are the goroutines that wait for the ends of children.
	waits sync.WaitGroup
}

var (
	_ muster.Fleet    = (*Fleet)(nil)
	_ muster.Releaser = (*Fleet)(nil)
)

// member is a process that was alive when last checked.
type member struct {
	id         string
	pid        int
	launchedAt time.Time
	// child is false for a process that an earlier controller started.
	child bool
	// last is its last collected output line.
	last string
}

const (
	// maxEnded bounds the ended members in a listing; the latest are kept.
	maxEnded = 200
	// termWait is how long after SIGTERM a process may take to end.
	termWait = 5 * time.Second
)

// New opens the fleet in o.Dir and adopts the processes that still live there.
func New(o Options) (*Fleet, error) {
	if len(o.Argv) == 0 {
		return nil, fmt.Errorf("fleet %s: the worker's program is missing", o.Fleet)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("fleet %s: make the directory of its members: %w", o.Fleet, err)
	}
	f := &Fleet{o: o, argv: o.Argv, env: o.Env, members: map[string]*member{}}
	ids, err := f.files(memberSuffix)
	if err != nil {
		return nil, fmt.Errorf("fleet %s: list %s: %w", o.Fleet, o.Dir, err)
	}
	for _, id := range ids {
		m, alive, err := readMember(f.path(id))
		switch {
		case err != nil:
			return nil, fmt.Errorf("fleet %s: %w", o.Fleet, err)
		case alive:
			f.members[m.id] = m
			o.Logger.Info("adopted a worker that was still running", "fleet", o.Fleet, "member", m.id, "pid", m.pid)
		default:
			f.collect(m)
			f.forget(m.id, false)
		}
	}
	return f, nil
}

// Change sets the program and the environment of workers that start from now on. Running ones stay as they are.
func (f *Fleet) Change(argv []string, env func(member string) []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.argv, f.env = argv, env
}

// Members implements [muster.Fleet].
func (f *Fleet) Members(context.Context) (muster.Listing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now().UTC()
	for _, m := range f.members {
		f.collect(m)
		if !m.child {
			if alive, err := held(f.path(m.id)); err == nil && !alive {
				f.end(m, "")
			}
		}
	}
	l := muster.Listing{At: now}
	for _, m := range f.members {
		l.Members = append(l.Members, muster.Member{ID: m.id, LaunchedAt: m.launchedAt})
	}
	slices.SortFunc(l.Members, func(a, b muster.Member) int { return strings.Compare(a.ID, b.ID) })
	l.Members = append(l.Members, f.ended...)
	return l, nil
}

// SetDesired implements [muster.Fleet]. It starts the ordered members that were never started before. It tries each one
// once and returns the failures, joined.
func (f *Fleet) SetDesired(ctx context.Context, order muster.Order) error {
	var failures []error
	for _, id := range order.Launch {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(failures, err)...)
		}
		if err := f.launch(id); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// End implements [muster.Releaser]. It sends the processes SIGTERM, and SIGKILL after five seconds. They have no
// message in progress.
func (f *Fleet) End(ctx context.Context, members []string) error {
	ctx, stop := context.WithTimeout(ctx, termWait)
	defer stop()
	f.signal(syscall.SIGTERM, members)
	if f.gone(ctx, members) {
		return nil
	}
	f.signal(syscall.SIGKILL, members)
	return nil
}

// Close ends all members at an operator's shutdown: they finish their messages in progress and exit. When ctx ends
// first, they are killed. It returns how many were killed. It can only wait for a member without a known process id.
func (f *Fleet) Close(ctx context.Context) (killed int) {
	all := f.living()
	f.signal(syscall.SIGTERM, all)
	if !f.gone(ctx, all) {
		rest := f.signal(syscall.SIGKILL, f.living())
		killed = len(rest)
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), termWait)
		defer stop()
		f.gone(ctx, rest)
	}
	f.waits.Wait()
	return killed
}

// living returns the ids of the living members, sorted.
func (f *Fleet) living() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := make([]string, 0, len(f.members))
	for id := range f.members {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// signal sends sig to each member that is alive, SIGKILL to its whole process group, and returns those it signalled.
// The lock tells whether a process is alive, because process ids are reused.
func (f *Fleet) signal(sig syscall.Signal, ids []string) (sent []string) {
	for _, id := range ids {
		f.mu.Lock()
		m := f.members[id]
		f.mu.Unlock()
		if m == nil || m.pid <= 1 {
			continue
		}
		if alive, err := held(f.path(id)); err != nil || !alive {
			continue
		}
		target := m.pid
		if sig == syscall.SIGKILL {
			// the whole group; the worker's commands have their own groups and end with it where the system supports
			// that
			target = -m.pid
		}
		err := syscall.Kill(target, sig)
		if err == nil {
			sent = append(sent, id)
		} else if !errors.Is(err, syscall.ESRCH) {
			f.o.Logger.Warn("a worker process could not be signalled", "fleet", f.o.Fleet, "member", id, "signal",
				sig.String(), "error", err)
		}
	}
	return sent
}

// gone waits until none of the members lives; it returns false when ctx ends first.
func (f *Fleet) gone(ctx context.Context, ids []string) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		living := f.living()
		left := slices.ContainsFunc(ids, func(id string) bool {
			if !slices.Contains(living, id) {
				return false
			}
			alive, err := held(f.path(id))
			return err == nil && alive
		})
		if !left {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// end moves m to the ended members. The caller holds the lock.
func (f *Fleet) end(m *member, failure string) {
	f.collect(m)
	delete(f.members, m.id)
	f.ended = append(f.ended, muster.Member{ID: m.id, LaunchedAt: m.launchedAt, Ended: true, Failure: failure})
	f.ended = f.ended[max(0, len(f.ended)-maxEnded):]
	f.forget(m.id, failure != "")
}

// launch starts one member, unless it was started before.
func (f *Fleet) launch(id string) error {
	if id != filepath.Base(id) || id == string(filepath.Separator) || strings.HasPrefix(id, ".") {
		return fmt.Errorf("start worker %q: its name is not a file name; one without / is allowed that does not "+
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
		// The process runs and is our child; only its adoption after a crash would fail.
		f.o.Logger.Warn("the file of a worker could not be written", "fleet", f.o.Fleet, "member", id, "error", err)
	}
	f.waits.Go(func() { f.wait(m, cmd) })
	return nil
}

// known tells whether a member of that id lives or has ended lately. The caller holds the lock. Ids are not reused, so
// a known one is a repeated order.
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

// start runs the program. Its output goes to a file and not to a pipe, because a pipe would break, and end the worker,
// when the controller dies. It does not get the mark of a program in which this one may run, which would end the worker
// together with that program.
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
