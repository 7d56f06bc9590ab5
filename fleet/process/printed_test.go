package process_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/muster-scale/muster/fleet/process"
)

// printed collects what members print.
type printed struct {
	mu    sync.Mutex
	lines []string
}

func (p *printed) take(member string, lines []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range lines {
		p.lines = append(p.lines, member+": "+l)
	}
}

func (p *printed) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// collecting returns options that collect what members print.
func collecting(dir, mode string) (process.Options, *printed) {
	o, p := options(dir, mode), &printed{}
	o.Printed = p.take
	return o, p
}

func TestWhatAMemberPrintsOutlivesIt(t *testing.T) {
	for _, row := range []struct {
		name, mode string
		end        bool
		listed     string
		want       []string
	}{
		{"one that is released", untilTerm, true, "a!", []string{"a: up"}},
		{"one that fails, with the reason", failing, false, "a!exit status 3: no such queue",
			[]string{"a: starting", "a: no such queue"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			o, p := collecting(dir, row.mode)
			f := open(t, o)
			launch(t, f, "a")
			if row.end {
				eventually(t, "it has printed", func() bool { list(t, f); return len(p.all()) > 0 })
				if err := f.End(t.Context(), []string{"a"}); err != nil {
					t.Fatal(err)
				}
			}
			listed(t, f, row.listed)
			if got := p.all(); !slices.Equal(got, row.want) {
				t.Errorf("collected %q, want %q", got, row.want)
			}
			if names := files(t, dir); names != "" {
				t.Errorf("it left the files %s: what it printed is elsewhere", names)
			}
		})
	}
}

func TestTheFileOfALivingMemberStaysSmall(t *testing.T) {
	dir := t.TempDir()
	o, p := collecting(dir, untilTerm)
	f := open(t, o)
	launch(t, f, "a")
	eventually(t, "it has printed", func() bool { list(t, f); return len(p.all()) > 0 })
	path := filepath.Join(dir, "a.log")
	if stat, err := os.Stat(path); err != nil || stat.Size() != 0 {
		t.Fatalf("%v, %v; want an empty file", stat, err)
	}
	flood := strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000) + "the end\n"
	if err := os.WriteFile(path, []byte(flood), 0o600); err != nil {
		t.Fatal(err)
	}
	list(t, f)
	got := p.all()
	if last := got[len(got)-1]; last != "a: the end" || !strings.HasSuffix(got[1], " bytes are left out here") ||
		len(got) > 3000 {
		t.Errorf("collected %d lines, the second %q, the last %q", len(got), got[1], last)
	}
	if stat, err := os.Stat(path); err != nil || stat.Size() != 0 {
		t.Errorf("%v, %v; want an empty file", stat, err)
	}
}

func TestWhatAMemberPrintedBeforeACrashOfTheControllerIsCollected(t *testing.T) {
	dir := t.TempDir()
	crash(t, dir, untilTerm)
	up(t, dir, "a", "b")
	b := pidOf(t, dir, "b")
	if err := syscall.Kill(b, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b is gone", func() bool { return !runs(b) && !locked(t, dir, "b") })
	o, p := collecting(dir, untilTerm)
	f := open(t, o)
	listed(t, f, "a")
	got := p.all()
	if slices.Sort(got); !slices.Equal(got, []string{"a: up", "b: up"}) {
		t.Errorf("collected %q, want what both printed", got)
	}
}
