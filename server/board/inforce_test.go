package board_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/server/board"
)

// set makes the values of a file from keys and values; one without a value is a default.
func set(pairs ...string) (all []board.Value) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, board.Value{Path: pairs[i], Value: pairs[i+1], Source: "file", Line: i/2 + 1})
	}
	return all
}

func TestAReloadSaysWhichValuesItChanged(t *testing.T) {
	var c board.InForce
	c.Begin("muster.yaml", set("listen.api", "127.0.0.1:1", "fleets[0].name", "a", "fleets[0].max", "2",
		"fleets[1].name", "b", "fleets[1].max", "3", "fleets[1].price", "0.1"))
	if now := c.Configuration("", "listen"); now.LastReload != nil || len(now.Waiting)+len(now.Reloads) > 0 {
		t.Errorf("before a reload: %+v", now)
	}
	// A fleet is inserted before the others, one loses a key, and the address changes.
	c.Reloaded(t0, set("listen.api", "127.0.0.1:2", "fleets[0].name", "new", "fleets[0].max", "9", "fleets[1].name",
		"a", "fleets[1].max", "4", "fleets[2].name", "b", "fleets[2].max", "3"), "fleet new runs")
	want := []board.Changed{
		{Path: "listen.api", Before: "127.0.0.1:1", After: "127.0.0.1:2", Line: 1},
		{Path: "fleets[new].name", After: "new", Line: 2}, {Path: "fleets[new].max", After: "9", Line: 3},
		{Path: "fleets[a].max", Before: "2", After: "4", Line: 5},
		{Path: "fleets[b].price", Before: "0.1"},
	}
	now := c.Configuration("", "data", "listen")
	if diff := cmp.Diff(want, now.Reloads[0].Changes); diff != "" || !now.LastReload.OK {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], now.Waiting); diff != "" {
		t.Errorf("what waits for the next start (-want +got):\n%s", diff)
	}
	c.Refused(t0.Add(time.Second), "max: found -1")
	now = c.Configuration("max: found -1", "listen")
	if len(now.Reloads) != 2 || now.LastReload.OK || now.LastReload.Said != "max: found -1" ||
		now.Values[2].Value != "9" || len(now.Faults) != 1 {
		t.Errorf("after a refusal: %+v", now)
	}
}

func TestTheReloadsThatAreRememberedAreBounded(t *testing.T) {
	var c board.InForce
	for i := range 30 {
		var values []board.Value
		for k := range 300 {
			values = append(values, board.Value{Path: fmt.Sprintf("key_%d", k), Value: fmt.Sprint(i)})
		}
		c.Reloaded(t0.Add(time.Duration(i)*time.Second), values, "")
	}
	now := c.Configuration("")
	if len(now.Reloads) != 20 || !now.Reloads[0].At.Equal(t0.Add(29*time.Second)) {
		t.Errorf("found %d reloads, the first of %s", len(now.Reloads), now.Reloads[0].At)
	}
	for _, r := range now.Reloads {
		if len(r.Changes) > 100 {
			t.Errorf("a reload has %d changes", len(r.Changes))
		}
	}
}
