package queuetool

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/queue/check"
)

// checkups are results of a check with everything that there is to say.
func checkups() map[string]*check.Result {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	all := &check.Result{
		Dir: "/data dir", Messages: 7, Lost: 2, Kept: "/data dir/damaged-1",
		Findings: []check.Finding{{File: "queues.db", Found: "page 5 is damaged"}},
		Damaged:  []check.Message{{ID: "an id", Queue: "jobs", Sequence: 9, Sent: at}},
		Missing:  []check.Gap{{From: 3, To: 4, After: at, Before: at.Add(time.Second), Why: "a page"}},
	}
	found := *all
	found.Kept, found.Lost = "", 0
	found.Missing = []check.Gap{{Why: "queues.db-wal"}, {From: 5, To: 5, After: at, Why: "frame 3"},
		{From: 6, Before: at, Why: "x"}}
	for range 30 {
		found.Findings = append(found.Findings, found.Findings[0])
	}
	return map[string]*check.Result{
		"repaired": all, "found": &found,
		"whole": {Dir: "/data", Messages: 1}, "ended": {Dir: "/data", Kept: "/data/damaged-1"},
	}
}

func TestACheckupIsPrinted(t *testing.T) {
	for name, want := range map[string][]string{
		"repaired": {"checked /data dir: 1 problem found\n", "queue jobs, sent ", "id an id, number 9\n",
			"numbers 3 to 4: a page\n", "7 messages whole, at least 2 messages missing\n",
			"report.json are in /data dir/damaged-1\n"},
		"found": {"31 problems found\n", "  and 11 more; -o json names up to 1000\n", "  at any time: queues.db-wal\n",
			" or later, number 5: frame 3\n", " or earlier, numbers from 6: x\n",
			"7 messages whole; how many are missing is unknown\n",
			"  muster queue check --repair --data '/data dir'\n"},
		"whole": {"checked /data: nothing is damaged, 1 message\n"},
		"ended": {"ended the repair that was cut short; the damaged files are in /data/damaged-1\n",
			"nothing is damaged, 0 messages\n"},
	} {
		var out bytes.Buffer
		if err := PrintCheckup(&out, checkups()[name]); err != nil {
			t.Error(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: want %q in\n%s", name, text, &out)
			}
		}
	}
}

func TestTheFieldsOfACheckAreDocumented(t *testing.T) {
	result, err := json.Marshal(checkups()["repaired"])
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/queues.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(result), -1) {
		if !strings.Contains(string(page), "| `"+field[1]+"` |") {
			t.Errorf("docs/queues.md has no row for the field %s of a check", field[1])
		}
	}
}
