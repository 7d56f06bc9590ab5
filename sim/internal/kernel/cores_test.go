package kernel

import (
	"testing"
	"time"
)

func TestAMemberThatDiesLeavesItsShareToTheOthers(t *testing.T) {
	c := Cores{Count: 1}
	for i := range int32(2) {
		c.Begin(0, int64(10*time.Second), Work{Number: uint32(i), Member: i})
	}
	const dies = int64(4 * time.Second) // each has done 2 s
	c.Remove(dies, 0)
	if at, any := c.NextEnd(dies); !any || time.Duration(at) != 12*time.Second {
		t.Errorf("the other work ends at %s, %v; want 12s, true", time.Duration(at), any)
	}
	if w, done := c.End(int64(12 * time.Second)); !done || w.Member != 1 {
		t.Errorf("found %+v, %v; want the work of member 1 done", w, done)
	}
}
