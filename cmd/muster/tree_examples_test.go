package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheTreeExamples runs the sessions of the examples for trees as their READMEs show them, with real workers.
func TestTheTreeExamples(t *testing.T) {
	for name, check := range map[string]func(*testing.T, *stage){
		"treecopy": func(*testing.T, *stage) {}, // its sessions compare the copy
		"contacts": everybodyWasToldOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			example := filepath.Join("../../examples", name)
			st := newStage(t)
			defer st.end()
			st.configure(t, read(t, filepath.Join(example, "muster.yaml")))
			lists, err := filepath.Glob(filepath.Join(example, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range lists {
				if err := os.WriteFile(filepath.Join(st.dir, filepath.Base(list)), []byte(read(t, list)),
					0o600); err != nil {
					t.Fatal(err)
				}
			}
			ran := 0
			for _, s := range sessions(st.local(read(t, filepath.Join(example, "README.md")))) {
				switch program, _, _ := strings.Cut(s.command, " "); program {
				case "cd":
				case "go":
					buildExample(t, example, s.command, st.dir)
				default:
					runSession(t, s, st.dir, st.env, &st.background)
					ran++
				}
			}
			if ran < 4 {
				t.Fatalf("only %d sessions were found", ran)
			}
			check(t, st)
		})
	}
}

// buildExample runs the go build of a README where the sources are, and leaves the programs below dir.
func buildExample(t *testing.T, example, command, dir string) {
	t.Helper()
	sources, err := filepath.Glob(example + "/*/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("found %v, %v", sources, err)
	}
	for _, source := range sources {
		read(t, source) // go test keeps a result until a file changes that the test has read
	}
	c := exec.Command("sh", "-c", strings.Replace(command, "-o ", "-o '"+dir+"'/", 1))
	c.Dir = example
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("README: $ %s: %v\n%s", command, err, out)
	}
}

// everybodyWasToldOnce holds that the cycles of the graph led to nobody a second time.
func everybodyWasToldOnce(t *testing.T, st *stage) {
	for name := range strings.SplitSeq("abcdefghijkl", "") {
		if text := read(t, filepath.Join(st.dir, "mails", name)); strings.Count(text, "\n") != 1 {
			t.Errorf("%s was told\n%s", name, text)
		}
	}
}
