package joblog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// all returns the texts of the records that a query selects.
func all(t *testing.T, dir string, q Query) (records []Record) {
	t.Helper()
	if err := Read(t.Context(), dir, "f", q, func(r Record) error {
		records = append(records, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return records
}

func texts(records []Record) (out []string) {
	for _, r := range records {
		out = append(out, r.Text)
	}
	return out
}

func TestALogOutlivesItsWritersAndKeepsTheirOrder(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		l := Open(dir, "f", fmt.Sprintf("w%d", i), nil)
		l.Write(Record{Kind: Output, Message: "m", Stream: "stdout", Text: fmt.Sprint(i)})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l.Write(Record{Kind: Output, Text: "after the end"})
	}
	got := all(t, dir, Query{})
	if want := []string{"0", "1", "2"}; !slices.Equal(texts(got), want) || got[2].Member != "w2" || got[2].At.IsZero() {
		t.Errorf("found %+v, want %v, each with its member and time", got, want)
	}
	for _, name := range []string{"f", "f/" + logName, "f/" + lockName} {
		if stat, err := os.Stat(filepath.Join(dir, name)); err != nil || stat.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v; nobody else may read what jobs print", name, stat.Mode(), err)
		}
	}
	if names := Fleets(dir); !slices.Equal(names, []string{"f"}) {
		t.Errorf("found the logs of %v", names)
	}
}

// Several processes write the same file. Each line must arrive whole, and the log must stay within its bound.
func TestManyWritersShareALog(t *testing.T) {
	dir := t.TempDir()
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			l := Open(dir, "f", fmt.Sprintf("w%d", w), nil)
			for i := range 500 {
				l.Write(Record{Kind: Output, Stream: "stdout", Text: fmt.Sprintf("%d-%d", w, i)})
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	next := map[string]int{}
	for _, r := range all(t, dir, Query{}) {
		if want := fmt.Sprintf("%s-%d", r.Member[1:], next[r.Member]); r.Text != want {
			t.Fatalf("%s wrote %q, want %q next", r.Member, r.Text, want)
		}
		next[r.Member]++
	}
	for w := range 8 {
		if n := next[fmt.Sprintf("w%d", w)]; n != 500 {
			t.Errorf("%d lines of writer %d arrived, want 500", n, w)
		}
	}
}

func TestALogIsBoundedAndKeepsTheNewest(t *testing.T) {
	dir := t.TempDir()
	p := placeOf(dir, "f")
	const batches = Files*FileMegabytes + 20
	for i := range batches {
		line := fmt.Sprintf(`{"at":"2026-03-01T12:00:00Z","kind":"output","text":"%d%s"}`+"\n", i,
			strings.Repeat("x", 1000))
		if err := p.append(bytes.Repeat([]byte(line), maxBatch/len(line))); err != nil {
			t.Fatal(err)
		}
	}
	names, err := p.names()
	if err != nil || len(names) > Files {
		t.Errorf("found the files %v, %v; at most %d are allowed", names, err, Files)
	}
	total := int64(0)
	for _, name := range names {
		stat, err := os.Stat(filepath.Join(p.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		total += stat.Size()
	}
	if total > Files*FileMegabytes<<20 || total < (Files-2)*FileMegabytes<<20 {
		t.Errorf("the log has %d bytes, at most %d MiB are allowed, and it should keep nearly as much", total,
			Files*FileMegabytes)
	}
	first, last := -1, -1
	if err := Read(t.Context(), dir, "f", Query{}, func(r Record) error {
		n := 0
		if _, err := fmt.Sscanf(r.Text, "%d", &n); err != nil || n < last {
			t.Fatalf("after %d comes %q", last, r.Text[:10])
		}
		if first < 0 {
			first = n
		}
		last = n
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if last != batches-1 || first < 10 {
		t.Errorf("it has %d to %d, want the newest of %d", first, last, batches)
	}
}

func TestWhatComesTooFastIsCountedAndNotWritten(t *testing.T) {
	dir := t.TempDir()
	l := Open(dir, "f", "w", nil)
	const lines = 1000
	begun := time.Now()
	for i := range lines {
		l.Write(Record{Kind: Output, Stream: "stdout", Text: fmt.Sprint(i, strings.Repeat("x", maxText))})
	}
	l.Write(Record{Kind: Failed, Text: "why it failed", Failure: &Failure{Error: "why it failed"}})
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the job waited %s for its log", took)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if why := all(t, dir, Query{Failed: true}); len(why) != 1 {
		t.Errorf("found %v, want the failure, however much its job prints", why)
	}
	got := all(t, dir, Query{})
	left := 0
	written := len(got) - 1
	for _, r := range got {
		if r.Kind == Worker {
			n := 0
			if _, err := fmt.Sscanf(r.Text, "%d lines are missing here", &n); err != nil {
				t.Errorf("found %q", r.Text)
			}
			left += n
			written--
		}
	}
	if written+left != lines || left == 0 {
		t.Errorf("%d written and %d left out of %d, want all of them, and some left out", written, left, lines)
	}
}

func TestALogThatCannotBeWrittenHoldsNobodyUp(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil { // a file where the directory should be
		t.Fatal(err)
	}
	told := make(chan error, 10)
	l := Open(dir, "f", "w", func(err error) { told <- err })
	l.Write(Record{Kind: Output, Text: "a"})
	if err := <-told; err == nil || !strings.Contains(err.Error(), "write to the log in") {
		t.Errorf("told of %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	l.Write(Record{Kind: Output, Text: "b"})
	if err := <-told; err != nil {
		t.Errorf("told of %v, want nil: it can be written again", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := texts(all(t, dir, Query{})); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("found %v, want what was kept meanwhile, too", got)
	}
}

// A process may be stopped while it holds the lock.
func TestALockThatNobodyLetsGoOfIsNotWaitedForForEver(t *testing.T) {
	dir := t.TempDir()
	l := Open(dir, "f", "w", nil)
	l.Write(Record{Kind: Output, Text: "a"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Open(filepath.Join(dir, "f", lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := placeOf(dir, "f").append([]byte("{}\n")); !errors.Is(err, errLocked) {
		t.Errorf("got %v, want an error that says who is in the way", err)
	}
}

func TestAQuerySelects(t *testing.T) {
	dir := t.TempDir()
	l := Open(dir, "f", "w", nil)
	for i, r := range []Record{
		{Kind: Output, Message: "aa11", Text: "0"}, {Kind: Output, Message: "aa22", Text: "1"},
		{Kind: Failed, Message: "aa11", Text: "2", Failure: &Failure{Message: "aa11", Error: "2"}},
		{Kind: Worker, Text: "3"},
	} {
		r.At = start.Add(time.Duration(i) * time.Minute)
		l.Write(r)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// A line that a crash left torn, and one of a later version.
	f, err := os.OpenFile(filepath.Join(dir, "f", logName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, "{\"at\":\"2026-0\n%s\n{\"at\":\"2026-03-01T13:00:00Z\",\"kind\":\"later\",\"text\":\"4\",\"more\":{}}\n{\"at\":", strings.Repeat("z", 2*maxLine))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		q    Query
		want string
	}{
		{"all", Query{}, "0 1 2 3 4"},
		{"one message", Query{Message: "aa11"}, "0 2"},
		{"messages by the beginning of their ids", Query{Message: "aa"}, "0 1 2"},
		{"failures", Query{Failed: true}, "2"},
		{"since an instant", Query{Since: start.Add(2 * time.Minute)}, "2 3 4"},
	} {
		if got := strings.Join(texts(all(t, dir, row.q)), " "); got != row.want {
			t.Errorf("%s: found %s, want %s", row.name, got, row.want)
		}
	}
	s, err := Recent(t.Context(), dir, "f", start)
	if err != nil || s.Failed != 1 || s.Last == nil || s.Last.Error != "2" {
		t.Errorf("recent: %+v, %v", s, err)
	}
	if s, err := Recent(t.Context(), dir, "nobody", start); err != nil || s.Failed != 0 {
		t.Errorf("recent of no log: %+v, %v", s, err)
	}
	stop := errors.New("enough")
	if err := Read(t.Context(), dir, "f", Query{}, func(Record) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("reading goes on after %v", err)
	}
}

// followed reads a log while it is written.
func followed(t *testing.T, dir string) (next func() string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	lines, done := make(chan string, 100), make(chan error, 1)
	go func() {
		done <- Follow(ctx, dir, "f", Query{}, func(r Record) error {
			lines <- r.Text
			return nil
		}, func() error { return nil })
	}()
	return func() string {
			select {
			case text := <-lines:
				return text
			case <-time.After(20 * time.Second):
				t.Fatal("nothing came")
				return ""
			}
		}, func() {
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("following ended with %v", err)
			}
		}
}

func TestFollowingSurvivesTheBeginningOfALogAndItsRotation(t *testing.T) {
	dir := t.TempDir()
	next, stop := followed(t, dir)
	defer stop()
	p := placeOf(dir, "f")
	for i := range 5 {
		text := fmt.Sprint(i)
		if err := p.append([]byte(fmt.Sprintf(`{"kind":"output","text":"%s"}`+"\n", text))); err != nil {
			t.Fatal(err)
		}
		if got := next(); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
		if i%2 == 1 { // the next write begins a new file
			if err := os.Truncate(p.path(), FileMegabytes<<20-10); err != nil {
				t.Fatal(err)
			}
		}
	}
	if names, _ := p.names(); len(names) < 2 {
		t.Errorf("found the files %v; the test would prove nothing", names)
	}
}

func TestWhatAWorkerLogsIsARecord(t *testing.T) {
	dir := t.TempDir()
	l := Open(dir, "f", "w", nil)
	log := slog.New(l.Handler(slog.LevelWarn)).With("message", "m1", "attempt", 2)
	log.Info("not this")
	log.Warn("giving up", "err", errors.New("no room"), slog.Group("g", "a", 1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got := all(t, dir, Query{})
	if len(got) != 1 || got[0].Message != "m1" || got[0].Level != "WARN" ||
		got[0].Text != `giving up attempt=2 err="no room" g.a=1` {
		t.Errorf("found %+v", got)
	}
}
