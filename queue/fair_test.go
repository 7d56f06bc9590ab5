package queue

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// tenants fills a queue with messages of tenants, named by their bodies.
func tenants(t *testing.T, s *Service, name, tenant string, n int) {
	t.Helper()
	for left := n; left > 0; left -= MaxBatch {
		if _, err := s.Send(t.Context(), name, slices.Repeat([]Outgoing{{Body: "of " + tenant, GroupID: tenant}},
			min(left, MaxBatch))); err != nil {
			t.Fatal(err)
		}
	}
}

func takeMany(t *testing.T, s *Service, name string, n int) (all []Message) {
	t.Helper()
	for len(all) < n {
		got, err := s.Receive(t.Context(), name, ReceiveOptions{Max: min(MaxBatch, n-len(all))})
		if err != nil || len(got) == 0 {
			t.Fatalf("received %d after %d, %v", len(got), len(all), err)
		}
		all = append(all, got...)
	}
	return all
}

func TestQuietTenantsAreReceivedBeforeANoisyOne(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", nil)
	tenants(t, s, "q", "noisy", 200)
	held := takeMany(t, s, "q", machine.NoisyLeast) // now it is
	tenants(t, s, "q", "quiet", 3)
	mustSend(t, s, "q", "of nobody")
	got := takeMany(t, s, "q", 6)
	for i, want := range []string{"of quiet", "of quiet", "of quiet", "of nobody", "of noisy", "of noisy"} {
		if got[i].Body != want {
			t.Errorf("message %d is %q, want %q", i, got[i].Body, want)
		}
	}
	for _, m := range append(held, got[4:]...) {
		mustDelete(t, s, "q", m.Receipt)
	}
	tenants(t, s, "q", "quiet", 1)
	// The noisy one has nothing in flight now, and its messages are older.
	if m := takeMany(t, s, "q", 1)[0]; m.Body != "of noisy" || m.GroupID != "noisy" {
		t.Errorf("after the deletes: %q, want the oldest", m.Body)
	}
}

func TestTenantsBelowTheThresholdAreReceivedInOrder(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", nil)
	tenants(t, s, "q", "busy", machine.NoisyLeast+5)
	takeMany(t, s, "q", machine.NoisyLeast-1)
	tenants(t, s, "q", "quiet", 1)
	if m := takeMany(t, s, "q", 1)[0]; m.Body != "of busy" {
		t.Errorf("received %q, want the oldest", m.Body)
	}
}

// TestNoTenantIsLost sends, receives and deletes at random and drains the
// queue: everything must come out once.
func TestNoTenantIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := machine.NewState(1)
		set, err := rules.ParseSettings(nil)
		if err != nil {
			t.Fatal(err)
		}
		q := st.Put(&machine.QueueRow{Name: "q"}, set)
		left, sent := map[uint64]bool{}, 0
		var held []machine.Delivery
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0, 1:
				group := rapid.SampledFrom([]string{"", "a", "a", "b"}).Draw(t, "tenant")
				for range rapid.IntRange(1, 50).Draw(t, "messages") {
					left[st.Send(q, int64(sent), 0, &machine.Record{Group: group})] = true
					sent++
				}
			case 2:
				held, _ = st.Receive(q, int64(sent), 1e6, rapid.IntRange(1, 60).Draw(t, "limit"), held)
			case 3:
				for _, d := range held[:len(held)/2] {
					if ok, err := st.Remove(q, int64(sent), d.Seq, d.Count); !ok || err != nil {
						t.Fatalf("delete of %+v: %t, %v", d, ok, err)
					}
					delete(left, d.Seq)
				}
				held = held[len(held)/2:]
			}
			if q.Ready.Live+q.Deferred.Live != q.Visible() || q.Len() != len(left) {
				t.Fatalf("%d ready, %d set aside, %d visible, %d of %d in all", q.Ready.Live, q.Deferred.Live,
					q.Visible(), q.Len(), len(left))
			}
		}
		for q.Visible() > 0 {
			held, _ = st.Receive(q, int64(sent), 1e6, 10, held)
		}
		seen := map[string]bool{}
		for _, d := range held {
			seen[fmt.Sprint(d.Seq)] = left[d.Seq]
		}
		if len(held) != len(left) || len(seen) != len(left) {
			t.Fatalf("%d came out, %d different ones, of %d", len(held), len(seen), len(left))
		}
	})
}

func TestATenantAmongManyOthersIsNotNoisy(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", nil)
	for i := range 300 {
		mustSend(t, s, "q", fmt.Sprint("of others ", i))
	}
	tenants(t, s, "q", "busy", machine.NoisyLeast+5)
	takeMany(t, s, "q", 300+machine.NoisyLeast) // a tenth of what is in flight is not more than a tenth
	tenants(t, s, "q", "quiet", 1)
	if m := takeMany(t, s, "q", 1)[0]; m.Body != "of busy" {
		t.Errorf("received %q, want the oldest", m.Body)
	}
}
