package stack_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/deploy/stack"
	"github.com/muster-scale/muster/deploy/stack/cloudformation"
	"github.com/muster-scale/muster/deploy/stack/terraform"
	"github.com/muster-scale/muster/kinds"
)

var update = flag.Bool("update", false, "write the golden files anew")

// examples are the names of the configurations in testdata: the set-ups of docs/aws.md as whole stacks.
func examples() []string {
	return []string{"s0-group", "s2-group", "s2-service", "s3-fargate", "s3-group", "s4-service", "s4-tasks"}
}

func load(t *testing.T, name string) *config.Config {
	t.Helper()
	c, err := kinds.Load(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := kinds.Parse("muster.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func made(t *testing.T, name string) stack.Stack {
	t.Helper()
	s, err := stack.Make(load(t, name), kinds.Table(), "", stack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// writers are the languages with the endings of their golden files.
func writers() map[string]func(stack.Stack) []byte {
	return map[string]func(stack.Stack) []byte{".template.yaml": cloudformation.Write, ".tf": terraform.Write}
}

// maxLines bounds a template, so that a person can review it. Terraform has a line for each end of a block.
func maxLines(ending string) int {
	if ending == ".tf" {
		return 520
	}
	return 380
}

func TestEachExampleIsItsGoldenFile(t *testing.T) {
	for _, name := range examples() {
		for ending, write := range writers() {
			got := write(made(t, name))
			if again := write(made(t, name)); !bytes.Equal(got, again) {
				t.Errorf("%s%s: two runs differ", name, ending)
			}
			if n := bytes.Count(got, []byte("\n")); n > maxLines(ending) {
				t.Errorf("%s%s has %d lines, at most %d can be reviewed", name, ending, n, maxLines(ending))
			}
			path := filepath.Join("testdata", name+ending)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s differs: %v\ngo test ./deploy/stack -update writes it anew", path, err)
			}
		}
	}
}
