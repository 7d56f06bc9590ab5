package trees

import (
	"testing"
	"time"
)

func TestATreeIsForgottenWhenItsNodesHaveEnded(t *testing.T) {
	var f Forest
	root, err := f.Plant(nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Ended(Place{}, 3, false) // outside of any tree
	f.Ended(root, 2, false)
	if f.Len() != 1 {
		t.Fatalf("found %d trees in progress, want 1", f.Len())
	}
	if e := f.Expect(time.Time{}); e.Trees != 1 {
		t.Errorf("found %+v, want something expected of a tree in progress", e)
	}
	f.Ended(root.Below(), 0, false)
	f.Ended(root.Below(), 0, true)
	if f.Len() != 0 {
		t.Errorf("found %d trees in progress, want none: one child is done and one failed", f.Len())
	}
	if e := f.Expect(time.Time{}); e.Trees != 0 {
		t.Errorf("found %+v expected of no tree", e)
	}
}
