package joblog

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func kept(t *testing.T, dir string, messages ...string) map[string]Failure {
	t.Helper()
	found, err := LastFailures(t.Context(), dir, messages)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTheLastFailureOfAMessageIsKept(t *testing.T) {
	dir := t.TempDir()
	if found := kept(t, dir, "a"); len(found) > 0 {
		t.Errorf("found %v where nothing was kept", found)
	}
	f := OpenFailures(dir, nil)
	f.Forget("a")
	f.Close()
	if _, err := os.Stat(filepath.Join(dir, failuresFile)); err == nil {
		t.Error("a file was made for nothing")
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			f := OpenFailures(dir, func(err error) { t.Error(err) })
			for i := range 50 {
				id := fmt.Sprintf("%d-%d", w, i)
				status := i
				f.Keep(id, Failure{At: time.Now(), Message: id, Error: "first"})
				f.Keep(id, Failure{At: time.Now(), Message: id, Error: "second", Status: &status,
					Output: strings.Repeat("x\n", maxOutput)})
				if i%2 == 1 {
					f.Forget(id)
				}
			}
			f.Close()
			f.Keep("late", Failure{Message: "late"})
		})
	}
	writers.Wait()
	found := kept(t, dir, "0-0", "3-48", "0-1", "late", "unknown")
	if len(found) != 2 || found["0-0"].Error != "second" || *found["3-48"].Status != 48 ||
		len(found["0-0"].Output) > maxOutput {
		t.Errorf("found %v, want the second failure of the two that were not forgotten", found)
	}
}

func TestFailuresAreForgottenByAgeAndNumber(t *testing.T) {
	db, err := failuresShared().Open(t.Context(), filepath.Join(t.TempDir(), failuresFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := store(t.Context(), tx, fmt.Sprint(i), &Failure{At: start.Add(time.Duration(i) * 24 * time.Hour),
			Message: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	count := func(tx *sql.Tx) (n int, oldest string) {
		if err := tx.QueryRow(`SELECT count(*), min(message) FROM failures`).Scan(&n, &oldest); err != nil {
			t.Fatal(err)
		}
		return n, oldest
	}
	if err := tidy(t.Context(), tx, start.Add(failuresKeep+36*time.Hour), 100); err != nil {
		t.Fatal(err)
	}
	if n, oldest := count(tx); n != 8 || oldest != "2" {
		t.Errorf("%d are left from %s on, want those of the last 15 days", n, oldest)
	}
	if err := tidy(t.Context(), tx, start, 3); err != nil {
		t.Fatal(err)
	}
	if n, oldest := count(tx); n != 3 || oldest != "7" {
		t.Errorf("%d are left from %s on, want the newest three", n, oldest)
	}
}

func TestAFileOfSomethingElseIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, failuresFile), []byte("a text"), 0o600); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 2)
	f := OpenFailures(dir, func(err error) { told <- err })
	f.Keep("a", Failure{At: start, Message: "a"})
	f.Close()
	if err := <-told; !strings.Contains(err.Error(), failuresFile) {
		t.Errorf("told of %v", err)
	}
	if _, err := LastFailures(t.Context(), dir, []string{"a"}); err == nil {
		t.Error("it was read")
	}
	if text, _ := os.ReadFile(filepath.Join(dir, failuresFile)); string(text) != "a text" {
		t.Errorf("it holds %q now", text)
	}
}
