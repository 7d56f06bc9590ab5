package work

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/muster-scale/muster/worker"
)

func TestBatchesAreWithoutNodes(t *testing.T) {
	failed, unknown := errors.New("no disk"), errors.New("nobody knows where the trees are")
	var got []string
	do := withoutNodes(func(_ context.Context, batch []worker.Message) (errs []error) {
		for _, m := range batch {
			got = append(got, m.Body)
			errs = append(errs, map[string]error{"b": failed}[m.Body])
		}
		return errs
	}, unknown)
	node := worker.Message{Body: `{"muster_tree":1,"root":"t"}`}
	errs := do(t.Context(), []worker.Message{{Body: "a"}, node, {Body: "b"}})
	if errs[0] != nil || errs[1] != unknown || errs[2] != failed || strings.Join(got, " ") != "a b" {
		t.Errorf("worked on %v, became %v", got, errs)
	}
	got = nil
	if errs := do(t.Context(), []worker.Message{node}); errs[0] == nil || got != nil {
		t.Errorf("worked on %v, became %v", got, errs)
	}
}
