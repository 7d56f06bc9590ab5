package worker_test

import (
	"bytes"
	"testing"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

func TestVariablesThatAreSetStandAboveOthers(t *testing.T) {
	var out bytes.Buffer
	c := execution.Command{
		Argv: []string{"sh", "-c", `echo "$MUSTER_IDEMPOTENCY_KEY $MORE"; echo not this >&2`},
		Set:  []string{"MUSTER_IDEMPOTENCY_KEY=mine", "MORE=a b"}, Stdout: &out,
	}
	if err := c.Run(t.Context(), worker.Message{ID: "1"}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "mine a b\n" {
		t.Errorf("standard output is %q", got)
	}
}

func TestAllOutputIsPassedOnThoughItsEndAloneIsKept(t *testing.T) {
	var out bytes.Buffer
	c := execution.Command{Argv: []string{"sh", "-c", "head -c 300000 /dev/zero"}, OutputLimit: 10, Stdout: &out}
	if err := c.Run(t.Context(), worker.Message{ID: "1"}); err != nil || out.Len() != 300_000 {
		t.Errorf("%d bytes were passed on, %v; want 300000", out.Len(), err)
	}
}
