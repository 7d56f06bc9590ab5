package history_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
)

// BenchmarkAppend measures one durable append of a decision of 1.5 KB.
func BenchmarkAppend(b *testing.B) {
	h, err := history.Open(filepath.Join(b.TempDir(), "history.db"), history.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	p, err := h.Begin(b.Context(), "a")
	if err != nil {
		b.Fatal(err)
	}
	r := record(noon, muster.Decided, `"`+strings.Repeat("x", 1500)+`"`)
	r.Shared = []byte(`{"name":"exact"}`)
	for b.Loop() {
		if p, err = h.Append(b.Context(), "a", p, r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen measures opening, with its check, a history of a week of one fleet: 10,000 decisions.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "history.db")
	h, err := history.Open(path, history.Options{})
	if err != nil {
		b.Fatal(err)
	}
	p, err := h.Begin(b.Context(), "a")
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10 {
		var batch []muster.Record
		for j := range history.MaxBatch {
			batch = append(batch, record(noon.Add(time.Duration(i*history.MaxBatch+j)*time.Minute), muster.Decided,
				`"`+strings.Repeat("x", 1500)+`"`))
		}
		if p, err = h.Append(b.Context(), "a", p, batch...); err != nil {
			b.Fatal(err)
		}
	}
	h.Close()
	for b.Loop() {
		h, err := history.Open(path, history.Options{})
		if err != nil {
			b.Fatal(err)
		}
		h.Close()
	}
}
