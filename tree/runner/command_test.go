package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// program is work by a shell script.
func program(script string) execution.Command {
	return execution.Command{Argv: []string{"sh", "-c", script}}
}

func TestAProgramPrintsItsChildren(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	w := newWorld(t, &shared{}, tree.Spec{Node: tree.Child{Key: "root", Body: "first"}, Limits: tree.Limits{Depth: 2}})
	r := w.runner(runner.Command(program(`
		echo "$MUSTER_TREE_ROOT $MUSTER_TREE_KEY $MUSTER_TREE_DEPTH $MUSTER_TREE_DEPTH_LEFT $MUSTER_ATTEMPT $(cat)" >>` + log + `
		test "$MUSTER_TREE_NODE" = "$MUSTER_IDEMPOTENCY_KEY" || exit 1
		test "$MUSTER_TREE_DEPTH_LEFT" = 0 && exit
		echo '{"key":"a"}'
		echo
		printf '{"key":"b","body":"the body"}'`)))
	w.run(r, 0)
	w.complete(7, 0)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"t root 0 2 1 first\n", "t a 1 1 1 a\n", "t b 2 0 1 the body\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("no program saw %q:\n%s", line, text)
		}
	}
}

func TestMoreChildrenThanABatch(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{})
	w.run(w.runner(runner.Command(program(`
		test "$MUSTER_TREE_DEPTH" = 0 || exit 0
		seq 250 | sed 's/.*/{"key":"&"}/'`))), 0)
	w.complete(251, 0)
}

func TestWrongOutputFailsTheAttempt(t *testing.T) {
	for name, c := range map[string]struct{ script, reason string }{
		"no JSON":           {`echo '{"key":"a"}'; echo done`, "line 2 of the output"},
		"an unknown field":  {`echo '{"name":"a"}'`, "unknown field"},
		"two on a line":     {`echo '{"key":"a"}{"key":"b"}'`, "after the object"},
		"no key":            {`echo '{"body":"a"}'`, "key of 0 bytes"},
		"a line too long":   {`head -c 500000 /dev/zero | tr '\0' a`, "line of more than"},
		"a failing program": {`echo '{"key":"a"}'; echo no disk >&2; exit 3`, "no disk"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &shared{}, tree.Spec{Limits: tree.Limits{Attempts: 1}})
			m, _ := w.queue.take()
			if err := w.runner(runner.Command(program(c.script))).Do(t.Context(), m); err != nil {
				t.Fatal(err) // the last attempt's message goes
			}
			failed, err := w.store.Nodes(t.Context(), "t", tree.Filter{States: []tree.State{tree.Failed}, Limit: 2})
			if err != nil || len(failed) != 1 || !strings.Contains(failed[0].Reason, c.reason) {
				t.Errorf("failed are %+v, %v; want %q in the reason", failed, err, c.reason)
			}
		})
	}
}

func TestOtherMessagesRunTheProgramAsEver(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{})
	r := w.runner(runner.Command(program(`test -z "$MUSTER_TREE_NODE" && echo no child && cat >/dev/null`)))
	if err := r.Do(t.Context(), worker.Message{ID: "1", Body: "plain"}); err != nil {
		t.Error(err)
	}
}
