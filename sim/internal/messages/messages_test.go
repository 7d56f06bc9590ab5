package messages

import (
	"testing"

	"pgregory.net/rapid"
)

// TestEveryMessageIsInOnePlace drives a queue at random and compares its counts with those of a plain model.
func TestEveryMessageIsInOnePlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		var progress, hidden []int32
		groups := map[string]int{} // messages of each group that are receivable, in progress or hidden
		ended := int64(0)
		take := func(from *[]int32) int32 {
			k := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
			ref := (*from)[k]
			*from = append((*from)[:k], (*from)[k+1:]...)
			return ref
		}
		now := int64(0)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now++
			switch step := rapid.IntRange(0, 5).Draw(t, "step"); {
			case step == 0:
				q.Send(Message{Sent: now, Group: rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "group")})
			case step == 1 && q.Receivable() > 0:
				sent, _ := q.Oldest()
				ref := q.Receive(now)
				m := q.At(ref)
				if m.Sent != sent || m.Since != now {
					t.Fatalf("received %+v, want the message sent at %d", *m, sent)
				}
				if groups[m.Group]++; m.Group != "" && m.Receives == 1 && groups[m.Group] > 1 {
					t.Fatalf("two messages of the group %s are out at once", m.Group)
				} else if m.Receives > 1 {
					groups[m.Group]--
				}
				progress = append(progress, ref)
			case step == 2 && len(progress) > 0:
				ref := take(&progress)
				q.Hide(ref, rapid.Bool().Draw(t, "retry"))
				hidden = append(hidden, ref)
			case step == 3 && len(hidden) > 0:
				q.Show(take(&hidden))
			case step >= 4 && len(progress) > 0:
				ref := take(&progress)
				groups[q.At(ref).Group]--
				ended++
				if step == 4 {
					q.Finish(ref)
				} else {
					q.Bury(ref)
				}
			}
			if int64(q.Backlog()+q.InFlight()) != q.InSystem() || q.InProgress() != len(progress) ||
				q.InFlight() != len(progress)+len(hidden) || q.Finished()+q.Dead() != ended {
				t.Fatalf("found %d waiting, %d in progress, %d in flight, %d in the system, %d ended; want %d in "+
					"progress, %d hidden, %d ended", q.Backlog(), q.InProgress(), q.InFlight(), q.InSystem(),
					q.Finished()+q.Dead(), len(progress), len(hidden), ended)
			}
		}
	})
}

func TestMessagesOfAGroupAreHandedOutOneAfterAnother(t *testing.T) {
	var q Queue
	for at := range int64(3) {
		q.Send(Message{Sent: at, Group: "a"})
	}
	for at := range int64(3) {
		if q.Receivable() != 1 || q.Backlog() != int(3-at) {
			t.Fatalf("found %d receivable of %d, want 1 of %d", q.Receivable(), q.Backlog(), 3-at)
		}
		ref := q.Receive(10)
		if sent := q.At(ref).Sent; sent != at {
			t.Fatalf("received the message sent at %d, want %d", sent, at)
		}
		if q.Receivable() != 0 {
			t.Fatal("a second message of the group is receivable")
		}
		q.Finish(ref)
	}
}

func TestTheOldestRetryIsKnown(t *testing.T) {
	var q Queue
	for at := range int64(3) {
		q.Send(Message{Sent: at})
	}
	first, second, third := q.Receive(5), q.Receive(5), q.Receive(5)
	q.Hide(first, false) // its worker died
	q.Hide(second, true)
	q.Hide(third, true)
	if sent, any := q.OldestRetry(); !any || sent != 1 || q.Retrying() != 2 {
		t.Errorf("found %d retries, the oldest sent at %d, %v; want 2, 1 and true", q.Retrying(), sent, any)
	}
	q.Show(second)
	if sent, any := q.OldestRetry(); !any || sent != 2 || q.Retrying() != 1 {
		t.Errorf("found %d retries, the oldest sent at %d, %v; want 1, 2 and true", q.Retrying(), sent, any)
	}
}
