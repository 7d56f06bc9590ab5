package muster_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

func TestWhatTreesSendGrowsStale(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := muster.Expected{At: at, Known: true, Trees: 1, Open: 4,
		Levels: []muster.ExpectedLevel{{Parents: 4, Messages: 10}}}
	for _, row := range []struct {
		name  string
		age   time.Duration
		known bool
	}{{"now", 0, true}, {"in time", 30 * time.Second, true}, {"too old", 31 * time.Second, false}, {"from the future",
		-31 * time.Second, false}} {
		got := e.Fresh(at.Add(row.age), 30*time.Second)
		if got.Known != row.known || !row.known &&
			(got.Open != 0 || !strings.Contains(got.Reason, "at most 30s is allowed")) {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
	unread := muster.Expected{At: at, Reason: "no disk"}
	if got := unread.Fresh(at.Add(time.Hour), time.Second); got.Reason != "no disk" {
		t.Errorf("why it is unknown is lost: %+v", got)
	}
}

func TestNoTreesAreNothing(t *testing.T) {
	var o muster.Observation
	text, err := json.Marshal(o)
	if err != nil || strings.Contains(string(text), "expected") || !o.Expected.None() {
		t.Errorf("an observation without trees is %s, %v", text, err)
	}
	e := &muster.Expected{Known: true, Levels: []muster.ExpectedLevel{{Parents: 4, Messages: 10},
		{Parents: 10, Messages: 5}}}
	if e.None() || e.Next() != 10 || e.Branching() != 2.5 {
		t.Errorf("next %v, branching %v", e.Next(), e.Branching())
	}
	if leaves := (&muster.Expected{Known: true}); leaves.Next() != 0 || leaves.Branching() != 0 {
		t.Errorf("leaves send %v", leaves.Next())
	}
}
