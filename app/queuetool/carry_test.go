package queuetool

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

// fakeQueues takes what is loaded, until it is told to fail.
type fakeQueues struct {
	batches []string
	// fail is asked before each batch, which is counted from 1.
	fail func(batch int) error
	// lines are exported, of which the export says there are said.
	lines string
	said  int
}

func (f *fakeQueues) Peek(context.Context, string, server.PeekQuery) (server.PeekAnswer, error) {
	return server.PeekAnswer{}, errors.New("not asked for")
}

func (f *fakeQueues) export(_ context.Context, _ string, to io.Writer, total func(int)) (int, error) {
	total(f.said)
	_, err := io.WriteString(to, f.lines)
	return f.said, err
}

func (f *fakeQueues) load(_ context.Context, _ string, lines []byte) (queue.Imported, error) {
	if f.fail != nil {
		if err := f.fail(len(f.batches) + 1); err != nil {
			return queue.Imported{}, err
		}
	}
	f.batches = append(f.batches, string(lines))
	return queue.Imported{Sent: bytes.Count(lines, []byte{'\n'})}, nil
}

func importOf(queues access, from int) *importing {
	return &importing{access: queues, result: ImportResult{Queue: "q", File: "f", NextLine: 1}, from: from, line: 1,
		shown: terminal.NewProgress(io.Discard, "imported", 0)}
}

func numbered(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestAnImportTakesEveryLineOnceAndInOrder(t *testing.T) {
	for _, row := range []struct {
		name, text string
		from       int
		want       []int // lines of the batches
	}{
		{"nothing", "", 1, nil},
		{"one line without an end", "line 1", 1, []int{1}},
		{"a whole batch", numbered(500), 1, []int{500}},
		{"one more", numbered(501), 1, []int{500, 1}},
		{"from a line", numbered(1200), 700, []int{500, 1}},
		{"from the first beyond the end", numbered(3), 4, nil},
		{"long lines", strings.Repeat(strings.Repeat("x", 600_000)+"\n", 3), 1, []int{1, 1, 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := &fakeQueues{}
			in := importOf(f, row.from)
			if err := in.run(t.Context(), strings.NewReader(row.text)); err != nil {
				t.Fatal(err)
			}
			var sizes []int
			for _, b := range f.batches {
				sizes = append(sizes, strings.Count(b, "\n"))
			}
			wanted := ""
			if lines := slices.Collect(strings.Lines(row.text)); row.from <= len(lines) {
				wanted = strings.Join(lines[row.from-1:], "")
			}
			if got := strings.Join(f.batches, ""); !slices.Equal(sizes, row.want) ||
				strings.TrimSuffix(got, "\n") != strings.TrimSuffix(wanted, "\n") {
				t.Errorf("loaded batches of %d lines, want %d; the text is right: %t", sizes, row.want, got == wanted)
			}
			if want := strings.Count(wanted, "\n"); in.result.Imported != want && row.text != "line 1" {
				t.Errorf("imported %d, want %d", in.result.Imported, want)
			}
		})
	}
}

func TestAnImportThatFailsSaysWhatWasTakenIn(t *testing.T) {
	wrong := &queue.LineError{Line: 7, Err: errors.New("found no body")}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, row := range []struct {
		name string
		ctx  context.Context
		text io.Reader
		fail func(int) error
		want ImportResult
		says []string
	}{
		{"a line of the first batch", t.Context(), strings.NewReader(numbered(600)), func(int) error { return wrong },
			ImportResult{NextLine: 7}, []string{"f:7: found no body", "lines 1 to 6 were imported", "--from-line 7"}},
		{"a line of the second batch", t.Context(), strings.NewReader(numbered(600)), only(2, wrong),
			ImportResult{Imported: 500, NextLine: 507}, []string{"f:507: found no body", "--from-line 507"}},
		{"nobody knows", t.Context(), strings.NewReader(numbered(600)), only(2, errors.New("connection lost")),
			ImportResult{Imported: 500, NextLine: 501, Uncertain: 100},
			[]string{"connection lost", "lines 1 to 500 were imported",
				"lines 501 to 600 may or may not have been"}},
		{"nothing", t.Context(), strings.NewReader(numbered(2)), func(int) error {
			return &queue.LineError{Line: 1,
				Err: client.ErrNotRunning}
		},
			ImportResult{NextLine: 1}, []string{"f:1: muster up is not running", "nothing was imported"}},
		{"a line that is too long", t.Context(), strings.NewReader("a\n" + strings.Repeat("x", queue.MaxImportLine+1)),
			nil,
			ImportResult{Imported: 1, NextLine: 2}, []string{"f:2: it is longer than", "--from-line 2"}},
		{"a file that cannot be read on", t.Context(), io.MultiReader(strings.NewReader("a\nb\n"),
			iotest.ErrReader(errors.New("disk gone"))), nil,
			ImportResult{Imported: 2, NextLine: 3}, []string{"f:3: disk gone", "--from-line 3"}},
		{"an interrupt", ended, strings.NewReader(numbered(2)), nil,
			ImportResult{NextLine: 1}, []string{"it was interrupted", "nothing was imported"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := importOf(&fakeQueues{fail: row.fail}, 1)
			err := in.run(row.ctx, row.text)
			if (err == nil) != (row.says == nil) {
				t.Fatalf("error %v", err)
			}
			for _, text := range row.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q does not say %q", err, text)
				}
			}
			row.want.Queue, row.want.File = "q", "f"
			if in.result != row.want {
				t.Errorf("found %+v, want %+v", in.result, row.want)
			}
		})
	}
}

func only(batch int, err error) func(int) error {
	return func(n int) error {
		if n == batch {
			return err
		}
		return nil
	}
}

func TestAnExportThatIsNotWholeIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.jsonl")
	if err := os.WriteFile(path, []byte("the last one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for said, whole := range map[int]bool{3: false, 2: true} {
		o := &Queues{access: &fakeQueues{lines: "a\nb\n", said: said}}
		err := writeWhole(path, func(to io.Writer) error {
			_, err := exportAll(t.Context(), o, "q", &lineCounter{to: to,
				shown: terminal.NewProgress(io.Discard, "exported", 0)})
			return err
		})
		text, _ := os.ReadFile(path)
		if whole != (err == nil) || whole != (string(text) == "a\nb\n") {
			t.Errorf("said to be %d lines: the file holds %q, %v", said, text, err)
		}
		if !whole && !strings.Contains(err.Error(), "2 lines arrived of 3") {
			t.Errorf("the error says %v", err)
		}
		if err := os.WriteFile(path, []byte("the last one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the directory holds %v, %v", left, err)
	}
}

func TestAnExportReplacesTheFileThatALinkNames(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.gz"), filepath.Join(dir, "link.gz")
	if err := errors.Join(os.WriteFile(real, nil, 0o600), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(link, func(w io.Writer) error { _, err := io.WriteString(w, "a\n"); return err }); err != nil {
		t.Fatal(err)
	}
	stat, err := os.Lstat(link)
	if err != nil || stat.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v", stat.Mode(), err)
	}
	f, err := os.Open(real)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); string(text) != "a\n" || err != nil {
		t.Errorf("it holds %q, %v", text, err)
	}
}
