package kinds_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-scale/muster/kinds"
)

// TestTheConfigurationsOfThePolicyPageAreRight reads every configuration of docs/policies.md with the checks of the
// program. A block that states only keys of a fleet stands in a fleet.
func TestTheConfigurationsOfThePolicyPageAreRight(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "policies.md"))
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for i, block := range strings.Split(string(text), "\n```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if strings.HasPrefix(block, "version:") {
			whole++
		} else {
			block = "version: 1\nfleets:\n  - name: f\n    queue: orders\n    max: 20\n" +
				"    workers: {command: x}\n    " + strings.ReplaceAll(strings.TrimSpace(block), "\n", "\n    ") + "\n"
		}
		c, err := kinds.Parse("muster.yaml", []byte(block))
		switch {
		case err != nil:
			t.Errorf("block %d of docs/policies.md has faults:\n%v\n%s", i+1, err, block)
		case len(c.Fleets) == 0:
			t.Errorf("block %d of docs/policies.md has no fleet:\n%s", i+1, block)
		}
	}
	if whole < 5 {
		t.Errorf("docs/policies.md has %d whole configurations: the test looks in the wrong place", whole)
	}
}
