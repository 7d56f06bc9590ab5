package tree_test

import (
	"strings"
	"testing"

	"github.com/muster-scale/muster/tree"
)

func TestAMessageNamesItsNode(t *testing.T) {
	r := tree.Root{ID: "t", Limits: tree.Limits{Depth: 5}}
	n := tree.Node{ID: tree.NodeID("t", rootNode, "a\n\"b", false), Parent: rootNode, Key: "a\n\"b", Body: "<x> & y",
		Depth: 3, Attempts: 2}
	body, err := tree.NewMessage(r, n).Encode()
	if err != nil || !strings.HasPrefix(body, `{"muster_tree":1,"root":"t","node":"`+n.ID.String()) {
		t.Fatalf("the message is %s, %v", body, err)
	}
	m, isNode, err := tree.Decode(body)
	want := tree.Message{Format: 1, Root: "t", Node: n.ID, Parent: rootNode, Key: n.Key, Depth: 3, DepthLeft: 2,
		Body: n.Body}
	if m != want || !isNode || err != nil {
		t.Errorf("it reads back as %+v, %t, %v", m, isNode, err)
	}
	if m, isNode, err := tree.Decode(strings.Replace(body, `"key"`, `"later":[1],"key"`, 1)); m != want || !isNode ||
		err != nil {
		t.Errorf("with a member of a later version it reads as %+v, %t, %v", m, isNode, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		"", "plain", `{"muster_tree":1,"root":"t","node":"00000000000000000000000000000001","key":"a","depth":1,"depth_left":2}`,
		`{"muster_tree":2}`, `{"muster_tree":1,"root":"../x"}`, `{"muster_tree":1,"root":"t","node":"0"}`,
		`{"muster_tree":`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		m, isNode, err := tree.Decode(body)
		if !isNode && (err != nil || strings.HasPrefix(body, `{"muster_tree":`)) {
			t.Fatalf("%q is no node, %v", body, err)
		}
		if !isNode || err != nil {
			return
		}
		if tree.CheckRootID(m.Root) != nil {
			t.Fatalf("%q names the tree %q", body, m.Root)
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, isNode, err := tree.Decode(again); back != m || !isNode || err != nil {
			t.Fatalf("%+v becomes %s and reads back as %+v, %t, %v", m, again, back, isNode, err)
		}
	})
}
