package treetool

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/tree"
)

// shownTree is a tree of which everything is shown: half done, with failures, and paused.
func shownTree() (tree.Root, []tree.Node) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := tree.Root{
		ID: "photos", Queue: "http://127.0.0.1:9324/000000000000/jobs", State: tree.Paused,
		Reason: "its slots worked for 1m0s, the limit is 1m0s",
		Limits: tree.Limits{Depth: 5, FanOut: 100, Nodes: 1000, Attempts: 3, SlotTime: time.Minute, Parallel: 8},
		Round:  2, SubmittedAt: began,
		Counts: tree.Counts{Created: 11, Done: 5, Failed: 1, Waiting: 2, Out: 3},
		Levels: []tree.Level{{Created: 1, Done: 1, Bred: 4}, {Created: 4, Done: 2, Failed: 1, Bred: 6},
			{Created: 6, Done: 2}},
		SlotTime: time.Minute,
	}
	for i := range int64(6) {
		r.Pace.Newest = began.Add(10*time.Second).Unix() / 10
		r.Pace.Settled[i%2]++
	}
	failed := tree.Node{ID: tree.NodeID("photos", tree.ID{}, "x", false), Key: "x\x1b[2J", Depth: 1, Attempts: 3,
		State: tree.Failed, Reason: "no disk"}
	return r, []tree.Node{failed}
}

func TestTreeStatusInJSON(t *testing.T) {
	r, failed := shownTree()
	got, err := json.MarshalIndent(StatusOf(r, failed, r.SubmittedAt.Add(20*time.Second)), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/tree_status.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}

func TestTreeStatusInText(t *testing.T) {
	r, failed := shownTree()
	var got bytes.Buffer
	if err := StatusOf(r, failed, r.SubmittedAt.Add(20*time.Second)).Print(&got,
		r.SubmittedAt.Add(20*time.Second)); err != nil {
		t.Fatal(err)
	}
	want := `photos: paused, 5 done, 1 failed, 5 open, of about 14; 0.3 a second; because its slots worked for 1m0s, the limit is 1m0s
submitted ` + r.SubmittedAt.Local().Format(time.DateTime) + `, 20s ago; slots worked for 1m0s
2 nodes not sent yet

  DEPTH  NODES  DONE  FAILED  OPEN  CHILDREN EACH
      0      1     1       0     0              4
      1      4     2       1     1              3
      2      6     2       0     4              0

FAILED    DEPTH  ATTEMPTS  REASON
x\x1b[2J  1      3         no disk
`
	if got.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", got.String(), want)
	}
	r.State, r.Reason = tree.Running, ""
	if line := StatusOf(r, nil, r.SubmittedAt.Add(20*time.Second)).Line(); !strings.HasSuffix(line,
		"; 0.3 a second, about 27s left") {
		t.Errorf("of a running tree is said %q", line)
	}
}

// TestWhatIsUnknownOfATreeIsNotShown is for a tree of which nothing is done yet.
func TestWhatIsUnknownOfATreeIsNotShown(t *testing.T) {
	r := tree.Root{ID: "t", State: tree.Running, Counts: tree.Counts{Created: 1, Out: 1},
		Levels: []tree.Level{{Created: 1}}, SubmittedAt: time.Unix(1_800_000_000, 0)}
	s := StatusOf(r, nil, r.SubmittedAt.Add(time.Millisecond))
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"per_second", "left_s", "branching", "finished_at", "completion"} {
		if strings.Contains(string(b), field) {
			t.Errorf("%s is shown: %s", field, b)
		}
	}
	if s.left() != "?" || s.ExpectedKnown || !strings.Contains(s.Line(), "of at least 1") {
		t.Errorf("the line is %q, left %s", s.Line(), s.left())
	}
}

// Children that open nodes are expected to name are a guess, and no part of a lower bound.
func TestOnlyNodesThatThereAreMakeALowerBound(t *testing.T) {
	level := func(created, done, each int64) tree.Level {
		return tree.Level{Created: created, Done: done, Bred: done * each}
	}
	for _, row := range []struct {
		name   string
		levels []tree.Level
		want   string
	}{
		{"one node", []tree.Level{level(1, 0, 0)}, ", of at least 1"},
		{"a depth of which nothing is known", []tree.Level{level(1, 1, 4), level(4, 0, 0)}, ", of at least 5"},
		{"guessed children above such a depth", []tree.Level{level(1, 1, 4), level(4, 1, 4), level(4, 0, 0)},
			", of at least 9, and by what is known so far about 21"},
		{"something of every depth", []tree.Level{level(1, 1, 4), level(4, 2, 4), level(8, 1, 0)}, ", of about 21"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := tree.Root{ID: "t", State: tree.Running, Levels: row.levels, Limits: tree.Limits{Depth: 9, Nodes: 1000},
				SubmittedAt: time.Unix(1_800_000_000, 0)}
			for _, l := range row.levels {
				r.Counts.Created, r.Counts.Done = r.Counts.Created+l.Created, r.Counts.Done+l.Done
			}
			if got := StatusOf(r, nil, r.SubmittedAt).inAll(); got != row.want {
				t.Errorf("found %q, want %q", got, row.want)
			}
		})
	}
}
