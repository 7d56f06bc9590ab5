package nodeworker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// program returns the example as a program that writes its receipts below a directory of its own.
func program(t *testing.T) (p execution.LinesOptions, receipts string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed, so the Node example was not tried")
	}
	script, err := filepath.Abs("worker.js")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return execution.LinesOptions{Command: execution.Command{Argv: []string{node, script}, Dir: dir},
		Batch: 5}, filepath.Join(dir, "receipts")
}

const order = `{"lines": [{"pieces": 2, "cents": 150}, {"pieces": 1, "cents": 5}]}`

func TestTheNodeWorkerKeepsToTheProtocol(t *testing.T) {
	p, _ := program(t)
	bad := `{"lines": [{"pieces": 1}]}`
	c := execution.Conformance{Samples: []string{order}, Bad: &bad}
	c.OfLines(t.Context(), p)
	for _, f := range c.Findings() {
		if f.Err != nil || f.Skipped != "" {
			t.Errorf("%s: %v %s", f.Rule, f.Err, f.Skipped)
		}
	}
}

// TestTheNodeWorkerWritesOneReceiptForEachMessage delivers a batch twice, with a bad order in its midst.
func TestTheNodeWorkerWritesOneReceiptForEachMessage(t *testing.T) {
	p, receipts := program(t)
	lines, err := execution.StartLines(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	batch := make([]worker.Message, p.Batch)
	for i := range batch {
		batch[i] = worker.Message{ID: fmt.Sprint("../", i), Body: order}
	}
	batch[2].Body = `{"lines": 7}`
	for range 2 {
		for i, err := range lines.DoBatch(t.Context(), batch) {
			if (err != nil) != (i == 2) || i == 2 && !strings.Contains(err.Error(), "the order has no lines") {
				t.Errorf("order %d: %v", i, err)
			}
		}
	}
	written, err := filepath.Glob(filepath.Join(receipts, "*"))
	if err != nil || len(written) != p.Batch-1 {
		t.Fatalf("found %v, %v", written, err)
	}
	for _, path := range written {
		if text, err := os.ReadFile(path); string(text) != "{\"total_cents\":305}\n" {
			t.Errorf("%s holds %s, %v", path, text, err)
		}
	}
}
