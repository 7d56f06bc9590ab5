package history_test

import (
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/history/historytest"
)

// TestFileAndMemoryAgree closes the file and opens it again at random.
func TestFileAndMemoryAgree(t *testing.T) {
	root, path := t.TempDir(), ""
	open := func(rt *rapid.T) historytest.Store {
		h, err := history.Open(path, history.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		rt.Cleanup(func() { h.Close() })
		return h
	}
	historytest.AgreesWithMemory(t, historytest.Against{
		Open: func(rt *rapid.T) historytest.Store {
			dir, err := os.MkdirTemp(root, "")
			if err != nil {
				rt.Fatal(err)
			}
			path = filepath.Join(dir, "history.db")
			return open(rt)
		},
		Reopen: func(rt *rapid.T, h historytest.Store) historytest.Store {
			if err := h.(*history.History).Close(); err != nil {
				rt.Fatal(err)
			}
			return open(rt)
		},
	})
}
