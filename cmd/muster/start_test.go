package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/cmd/muster/internal/command"
)

func TestACommandIsTheSameAloneAndAmongAll(t *testing.T) {
	help := func(built []string, args ...string) string {
		var out bytes.Buffer
		root := newRoot(built)
		root.SetArgs(args)
		root.SetOut(&out)
		if err := root.Execute(); err != nil {
			t.Errorf("muster %s: %v", strings.Join(args, " "), err)
		}
		return out.String()
	}
	whole := help(nil, "--help")
	seen := map[string]bool{}
	for _, c := range commands() {
		made := c.make(&command.Global{})
		if made.Name() != c.name || seen[c.name] {
			t.Errorf("the word %s calls %s", c.name, made.Name())
		}
		seen[c.name] = true
		args := []string{c.name, "--help"}
		if got := neededCommands(args); len(got) != 1 || got[0].name != c.name {
			t.Errorf("muster %s makes %d commands, want it alone", c.name, len(got))
		}
		if alone, among := help(args, args...), help(nil, args...); alone != among {
			t.Errorf("muster %s --help says alone\n%s\nand among all\n%s", c.name, alone, among)
		}
		if !made.Hidden && !strings.Contains(whole, "\n  "+c.name+" ") {
			t.Errorf("muster --help does not show %s:\n%s", c.name, whole)
		}
	}
}

func TestWhatIsNoCommandMakesAllOfThem(t *testing.T) {
	for _, args := range [][]string{nil, {"help", "work"}, {"--help"}, {"-f", "muster.yaml", "check"},
		{"completion", "bash"}, {"__complete", ""}, {"wrok"}} {
		if got, all := len(neededCommands(args)), len(commands()); got != all {
			t.Errorf("muster %q makes %d commands, want all %d", args, got, all)
		}
	}
}

func TestCollectionWaitsForTheStartUnlessTheUserHasDecided(t *testing.T) {
	for _, row := range []struct {
		name, variable string
		during         int
	}{
		{"by default", "", startPercent},
		{"with GOGC", "GOGC", 70},
		{"with GOMEMLIMIT", "GOMEMLIMIT", 70},
	} {
		synctest.Test(t, func(t *testing.T) {
			before := debug.SetGCPercent(70)
			defer debug.SetGCPercent(before)
			now := func() int {
				p := debug.SetGCPercent(70)
				debug.SetGCPercent(p)
				return p
			}
			delayFirstGC(func(name string) string {
				if name == row.variable {
					return "70"
				}
				return ""
			})
			if got := now(); got != row.during {
				t.Errorf("%s: the percent is %d during the start, want %d", row.name, got, row.during)
			}
			time.Sleep(startDuration)
			synctest.Wait()
			if got := now(); got != 70 {
				t.Errorf("%s: the percent is %d after the start, want what it was, 70", row.name, got)
			}
		})
	}
}

// TestPackagesMakeLittleWhenTheyAreInitialized keeps the start of every command short, and below the 4 MB at which the
// first garbage collection begins: delayFirstGC comes after the packages.
func TestPackagesMakeLittleWhenTheyAreInitialized(t *testing.T) {
	const most = 5 << 19 // 2.5 MiB
	// The program as it is installed: under the race detector packages make more, and how much changes.
	program := filepath.Join(t.TempDir(), "muster")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released, and as everything else is compiled already
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	command := exec.Command(program, "version")
	command.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, trace)
	}
	type made struct {
		by    string
		bytes int
	}
	var all []made
	total := 0
	for line := range strings.Lines(string(trace)) {
		var m made
		var at, clock float64
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes", &m.by, &at, &clock, &m.bytes); n == 4 {
			all, total = append(all, m), total+m.bytes
		}
	}
	if len(all) < 50 {
		t.Fatalf("found %d packages in the trace:\n%s", len(all), trace)
	}
	t.Logf("%d packages make %d bytes", len(all), total)
	if total > most {
		slices.SortFunc(all, func(a, b made) int { return cmp.Compare(b.bytes, a.bytes) })
		t.Errorf("packages make %d bytes when they are initialized, most of all %v.\nwhy: every start of every "+
			"command and worker pays for it. fix: do without the dependency, or with a version of it that does not; "+
			"docs/dependencies.md tells of two",
			total, all[:8])
	}
}
