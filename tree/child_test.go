package tree_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/muster-scale/muster/tree"
)

func FuzzReadChild(f *testing.F) {
	for _, line := range []string{`{"key":"a"}`, `{"key":"a","body":"b"}`, `{"key":"a"} `, `{"key":"a"}{}`,
		`{"name":"a"}`, `[]`, `null`, `"a"`, "", `{"key":1}`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, err := tree.ReadChild([]byte(line))
		if err != nil {
			if !strings.Contains(err.Error(), "read a child") {
				t.Fatalf("%q: the error does not say what was attempted: %v", line, err)
			}
			return
		}
		if !json.Valid([]byte(line)) {
			t.Fatalf("%q was taken as %+v", line, c)
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := tree.ReadChild(again); back != c || err != nil {
			t.Fatalf("%+v becomes %s and reads back as %+v, %v", c, again, back, err)
		}
	})
}

// The end of a program's output may come at once with a line that no one has measured before.
func TestALineThatIsTooLongIsNoChild(t *testing.T) {
	long := `{"key":"a"}` + strings.Repeat(" ", tree.MaxLine)
	if _, err := tree.ReadChild([]byte(long)); err == nil || !strings.Contains(err.Error(), "line of more than") {
		t.Errorf("found %v, want that the line is too long", err)
	}
	if _, err := tree.ReadChild([]byte(long[:tree.MaxLine])); err != nil {
		t.Errorf("found %v for the longest line that is allowed", err)
	}
}
