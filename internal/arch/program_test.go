package arch_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// maxProgram bounds the stripped program on linux/amd64, in bytes. A release is 2 MB smaller and has its own bound:
// decision 65.
const maxProgram = 34 << 20

// TestTheProgramIsSmallAndTheLinkerDropsUnusedMethods links the program once, and reads what the linker says about it.
func TestTheProgramIsSmallAndTheLinkerDropsUnusedMethods(t *testing.T) {
	program := filepath.Join(t.TempDir(), "muster")
	link := exec.Command("go", "build", "-ldflags=-s -w -dumpdep", "-o", program, "./cmd/muster")
	link.Dir = filepath.Join("..", "..")
	link.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds it, whatever compilers this machine has
	var said bytes.Buffer
	link.Stderr = &said
	if err := link.Run(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, tail(said.String()))
	}
	if !strings.Contains(said.String(), "main.main -> ") {
		t.Fatalf("the linker did not say what depends on what:\n%s", tail(said.String()))
	}
	if found := reflectMethods(said.String()); len(found) > 0 {
		t.Errorf("the program finds methods by a name that only the running program knows: %s.\nwhy: the linker then "+
			"keeps "+
			"every exported method of every linked type, 13 MB of 46. fix: write pages with plain code and not with a "+
			"template, use no template of cobra, and call methods by their names", strings.Join(found, ", "))
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the program has %d bytes", info.Size())
	if info.Size() > maxProgram {
		t.Errorf("the program has %d bytes, at most %d are allowed.\nwhy: each worker of a fleet is this program. "+
			"fix: do without the dependency that came", info.Size(), maxProgram)
	}
}

// reflectMethods lists the reachable functions that look methods up by name, from what the linker says: a line for each
// edge, with a mark behind such a function.
func reflectMethods(edges string) (found []string) {
	for line := range strings.Lines(edges) {
		_, to, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		if name, marked := strings.CutSuffix(to, " <ReflectMethod>"); marked && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// tail returns the last two thousand bytes of text.
func tail(text string) string { return text[max(0, len(text)-2000):] }
