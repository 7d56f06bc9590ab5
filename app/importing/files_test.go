package importing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-scale/muster/internal/misuse"
)

func TestADirectoryStandsForItsTerraformAndTheModulesItCalls(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"infra/main.tf":          "module \"q\" {\n  source = \"../modules/q\"\n}\n",
		"infra/terraform.tfvars": "a = 1\n", "infra/README.md": "no", "modules/q/queue.tf": "variable \"a\" {}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Files(strings.NewReader("{}"), []string{filepath.Join(root, "infra"), "-"})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		name, _ := filepath.Rel(root, f.Name)
		if f.Name == "standard input" {
			name = f.Name
		}
		if f.Called {
			name += " (called)"
		}
		found = append(found, name)
	}
	want := "infra/main.tf, infra/terraform.tfvars, modules/q/queue.tf (called), standard input"
	if got := strings.Join(found, ", "); got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	for _, wrong := range []string{filepath.Join(root, "modules"), filepath.Join(root, "nothing.yaml")} {
		if _, err := Files(nil, []string{wrong}); !misuse.Is(err) {
			t.Errorf("%s gives the error %v", wrong, err)
		}
	}
}
