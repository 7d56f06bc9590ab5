package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/muster-scale/muster/"
	// mostFiles is how many files one reads to follow a decision, of which it runs more than fewLines lines.
	mostFiles = 10
	fewLines  = 5
)

// way are the packages from the source to the fleet. What they ask has walls of its own, and a name that says what
// comes back: the roster, what was learned, the history, the queue.
var way = regexp.MustCompile(`^(source/embedded|controller|controller/loop|policy|policy/planning|policy/internal/rules|` +
	`fleet/process)/[^/]+\.go$`)

var block = regexp.MustCompile(`^` + regexp.QuoteMeta(module) + `([^:]+):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)$`)

// TestADecisionIsFewFiles measures it, because a list of files that was written down by hand becomes false.
func TestADecisionIsFewFiles(t *testing.T) {
	program := filepath.Join(t.TempDir(), "decision")
	run(t, "", "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"...", "-o", program, ".")
	for _, row := range []struct {
		policy string
		more   int // files of the policy's own beyond one
	}{{"exact", 0}, {"deadline", 5}} {
		t.Run(row.policy, func(t *testing.T) {
			counters, profile := t.TempDir(), filepath.Join(t.TempDir(), "profile")
			run(t, counters, program, "-policy", row.policy, counters)
			run(t, "", "go", "tool", "covdata", "textfmt", "-i="+counters, "-o="+profile)
			lines := executed(t, profile)
			var files []string
			sum := 0
			for _, f := range slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
				return cmp.Or(-cmp.Compare(lines[a], lines[b]), cmp.Compare(a, b))
			}) {
				if lines[f] > fewLines {
					files, sum = append(files, fmt.Sprintf("%4d %s", lines[f], f)), sum+lines[f]
				}
			}
			t.Logf("%d lines in %d files:\n%s", sum, len(files), strings.Join(files, "\n"))
			if most := mostFiles + row.more; len(files) > most || len(files) < 5 {
				t.Errorf("a decision of %s runs through %d files, at most %d are allowed.\nwhy: from source to fleet "+
					"is to take minutes. fix: bring together what is read together", row.policy, len(files), most)
			}
		})
	}
}

// executed counts by file the lines that ran, of the files on the way.
func executed(t *testing.T, profile string) map[string]int {
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]map[int]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		m := block.FindStringSubmatch(lines.Text())
		if m == nil || m[4] == "0" || !way.MatchString(m[1]) {
			continue
		}
		from, _ := strconv.Atoi(m[2])
		to, _ := strconv.Atoi(m[3])
		if ran[m[1]] == nil {
			ran[m[1]] = map[int]bool{}
		}
		for line := from; line <= to; line++ {
			ran[m[1]][line] = true
		}
	}
	counts := map[string]int{}
	for f, lines := range ran {
		counts[f] = len(lines)
	}
	return counts
}

// run runs a program; what it covers beyond what it writes by itself goes to counters.
func run(t *testing.T, counters, name string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	if counters != "" {
		c.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", c, err, out)
	}
}
