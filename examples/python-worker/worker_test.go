package pythonworker_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// program returns the example as a program that keeps its totals in a directory of its own.
func program(t *testing.T) (p execution.LinesOptions, totals string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed, so the Python example was not tried")
	}
	script, err := filepath.Abs("worker.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return execution.LinesOptions{Command: execution.Command{Argv: []string{python, script}, Dir: dir}, Slots: 2,
		Batch: 5}, filepath.Join(dir, "words.db")
}

func TestThePythonWorkerKeepsToTheProtocol(t *testing.T) {
	p, _ := program(t)
	bad := "no JSON"
	c := execution.Conformance{Samples: []string{`{"text": "some words"}`, `{"text": ""}`}, Bad: &bad}
	c.OfLines(t.Context(), p)
	for _, f := range c.Findings() {
		if f.Err != nil || f.Skipped != "" {
			t.Errorf("%s: %v %s", f.Rule, f.Err, f.Skipped)
		}
	}
}

// TestThePythonWorkerCountsEachMessageOnce delivers every message twice, from two programs at a time.
func TestThePythonWorkerCountsEachMessageOnce(t *testing.T) {
	p, totals := program(t)
	lines, err := execution.StartLines(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	results := make(chan []error)
	for delivery := range 2 {
		for first := 0; first < 20; first += p.Batch {
			var batch []worker.Message
			for i := range p.Batch {
				batch = append(batch, worker.Message{ID: fmt.Sprint(first + i), Attempt: delivery + 1,
					Body: `{"text": "Ja, ja und nein"}`})
			}
			go func() { results <- lines.DoBatch(t.Context(), batch) }()
		}
	}
	for range 2 * 20 / p.Batch {
		for _, err := range <-results {
			if err != nil {
				t.Error(err)
			}
		}
	}
	query := "import sqlite3, sys; print(dict(sqlite3.connect(sys.argv[1]).execute('SELECT word, n FROM words ORDER " +
		"BY word')))"
	out, err := exec.Command(p.Command.Argv[0], "-c", query, totals).CombinedOutput()
	if want := "{'ja': 20, 'ja,': 20, 'nein': 20, 'und': 20}\n"; string(out) != want || err != nil {
		t.Errorf("got %s %v, want %s", out, err, want)
	}
}
