package queue

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/muster-scale/muster/queue/internal/machine"
)

func TestAForgedOrForeignReceiptIsRefused(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", nil)
	mustCreate(t, s, "other", nil)
	mustSend(t, s, "q", "a")
	m := takeOne(t, s, "q")
	raw, err := base64.RawURLEncoding.DecodeString(m.Receipt)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw { // every single byte matters
		forged := append([]byte(nil), raw...)
		forged[i] ^= 1
		handle := base64.RawURLEncoding.EncodeToString(forged)
		if err := s.Delete(t.Context(), "q", []string{handle})[0]; !errors.Is(err, ErrReceiptHandleInvalid) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	stranger := newReceipts([]byte("another key")).make(machine.Delivery{Seq: 1, Count: 1, Queue: 1})
	for name, row := range map[string]struct {
		queue, handle string
		want          error
	}{
		"another service's":   {"q", stranger, ErrReceiptHandleInvalid},
		"of another queue":    {"other", m.Receipt, ErrReceiptHandleInvalid},
		"cut short":           {"q", m.Receipt[:20], ErrReceiptHandleInvalid},
		"longer":              {"q", m.Receipt + "A", ErrReceiptHandleInvalid},
		"with a line feed":    {"q", m.Receipt[:len(m.Receipt)-1] + "\n", ErrReceiptHandleInvalid},
		"empty":               {"q", "", ErrMissingParameter},
		"for an absent queue": {"none", m.Receipt, ErrQueueNotFound},
	} {
		if err := s.Delete(t.Context(), row.queue, []string{row.handle})[0]; !errors.Is(err, row.want) {
			t.Errorf("receipt %s: delete gives %v, want %v", name, err, row.want)
		}
		if err := change(t, s, row.queue, row.handle, 0); !errors.Is(err, row.want) {
			t.Errorf("receipt %s: change gives %v, want %v", name, err, row.want)
		}
	}
	wantCounts(t, s, "q", 0, 1, 0)
}

func TestAReceiptOfADeletedQueueIsForeignToItsSuccessor(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", nil)
	mustSend(t, s, "q", "a")
	m := takeOne(t, s, "q")
	if err := s.DeleteQueue(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, s, "q", nil)
	if err := s.Delete(t.Context(), "q", []string{m.Receipt})[0]; !errors.Is(err, ErrReceiptHandleInvalid) {
		t.Errorf("delete in a new queue of the same name: %v", err)
	}
}

// FuzzReceipt holds that a handle is accepted only if it is exactly what make
// gives for what it names.
func FuzzReceipt(f *testing.F) {
	r := newReceipts([]byte("key"))
	f.Add(r.make(machine.Delivery{Seq: 1 << machine.SeqBits, Count: 1, Queue: 1}))
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, handle string) {
		d, err := r.read(handle)
		if err == nil && r.make(d) != handle {
			t.Errorf("%q is accepted as %+v, whose handle is %q", handle, d, r.make(d))
		}
		if err != nil && !errors.Is(err, ErrReceiptHandleInvalid) && !errors.Is(err, ErrMissingParameter) {
			t.Errorf("%q: %v", handle, err)
		}
	})
}
