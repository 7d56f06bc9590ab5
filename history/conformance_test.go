package history_test

import (
	"path/filepath"
	"testing"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/history/historytest"
	"github.com/muster-scale/muster/mustertest"
)

func openFile(t *testing.T, path string, o history.Options) *history.History {
	t.Helper()
	h, err := history.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func TestFileKeepsTheContract(t *testing.T) {
	mustertest.HistoryConformance(t, func(t *testing.T) muster.History {
		return openFile(t, filepath.Join(t.TempDir(), "history.db"), history.Options{})
	})
}

func TestMemoryKeepsTheContract(t *testing.T) {
	mustertest.HistoryConformance(t, func(t *testing.T) muster.History { return history.NewMemory() })
}

func TestFileIsDurable(t *testing.T) {
	mustertest.HistoryDurability(t, func(t *testing.T, dir string) (muster.History, func()) {
		h, err := history.Open(filepath.Join(dir, "history.db"), history.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return h, func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestTheFileFindsAndPrunes(t *testing.T) {
	historytest.Conformance(t, func(t *testing.T) historytest.Store {
		return openFile(t, filepath.Join(t.TempDir(), "history.db"), history.Options{})
	})
}

func TestTheMemoryFindsAndPrunes(t *testing.T) {
	historytest.Conformance(t, func(t *testing.T) historytest.Store { return history.NewMemory() })
}
