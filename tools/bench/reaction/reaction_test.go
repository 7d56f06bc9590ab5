package reaction

import (
	"strings"
	"testing"
)

func TestTheFiguresOfTheTestAreRead(t *testing.T) {
	const fast = "    reaction_test.go:56: result: 200 and 160 and 320 samples: in process p50 420µs p99 1.98ms; " +
		"over HTTP p50 53.83ms p99 79.47ms; in a burst p50 90ms p99 101ms; alarm of one minute p50 1m31s; gain 1691"
	rows, err := Rows([]string{"=== RUN", fast})
	if err != nil || len(rows) != 4 {
		t.Fatalf("found %d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		if !r.Met {
			t.Errorf("%s: not met by %s", r.What, r.Found)
		}
	}
	if rows[1].Found != "p50 53.83ms, p99 79.47ms of 160" ||
		rows[2].Found != "p50 90ms, p99 101ms of 320" ||
		rows[3].Found != "1691 x: the alarm takes 1m31s, median of 60" {
		t.Errorf("found %q, %q and %q", rows[1].Found, rows[2].Found, rows[3].Found)
	}
	slow := strings.NewReplacer("1.98ms", "21ms", "79.47ms", "1.2s", "101ms", "151ms", "1691", "999").Replace(fast)
	if rows, err = Rows([]string{slow}); err != nil || rows[0].Met || rows[1].Met || rows[2].Met || rows[3].Met {
		t.Errorf("found %+v, %v; want no goal met", rows, err)
	}
	for _, broken := range []string{"ok", "result: none", strings.Replace(fast, "1m31s", "soon", 1)} {
		if rows, err := Rows([]string{broken}); err == nil {
			t.Errorf("%q: found %+v, want an error", broken, rows)
		}
	}
}
