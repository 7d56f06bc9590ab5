package function

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-scale/muster/mustertest"
)

const published = `version: 1
fleets: [{name: web, queue: "https://sqs.eu-west-1.amazonaws.com/123456789012/work", max: 3,
  asg: {group: web, reports: none}}]`

// opened opens publish-metric with variables, and returns the error.
func opened(t *testing.T, env map[string]string) error {
	t.Helper()
	env[VariableFunction] = "publish-metric"
	_, err := New(t.Context(), Options{Logger: slog.New(slog.DiscardHandler),
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	return err
}

func TestTheConfigurationIsThatOfTheVariableOrElseOfThePackage(t *testing.T) {
	mustertest.AWSEnvironment(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "muster.yaml")
	if err := os.WriteFile(file, []byte(published), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := opened(t, map[string]string{"LAMBDA_TASK_ROOT": dir}); err != nil {
		t.Errorf("the file of the package: %v", err)
	}
	err := opened(t, map[string]string{"LAMBDA_TASK_ROOT": dir, VariableConfig: "version: 2"})
	if err == nil || !strings.Contains(err.Error(), VariableConfig+":1") {
		t.Errorf("found %v, want the fault of the variable with its line", err)
	}
	if err := os.Truncate(file, maxConfig+1); err != nil {
		t.Fatal(err)
	}
	err = opened(t, map[string]string{"LAMBDA_TASK_ROOT": dir})
	if err == nil || !strings.Contains(err.Error(), "found 4194305 bytes, allowed are 4194304") {
		t.Errorf("found %v for a file that is too large", err)
	}
}

func TestThePageNamesEveryFunctionAndVariable(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "lambda.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(Names(), VariableFunction, VariableConfig, VariableFleets, VariableHistory,
		VariableTrees, VariableQueue, VariableProtected, VariableWait, VariableCount, VariableDuration,
		VariableSpread) {
		if !strings.Contains(string(page), "| `"+name) && !strings.Contains(string(page), "`, `"+name+"`") {
			t.Errorf("docs/lambda.md has no row with %s", name)
		}
	}
}
