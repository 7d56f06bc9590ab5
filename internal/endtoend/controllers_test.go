package endtoend_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/deploy/iam"
	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/leader/dynamolease"
	"github.com/muster-scale/muster/mustertest/faketable"
)

// TestThePolicyOfASharedTableAllowsItsCallsAndNoMore does everything that controllers do with their table, and compares
// the calls with what the policy of muster up allows for it.
func TestThePolicyOfASharedTableAllowsItsCallsAndNoMore(t *testing.T) {
	table := faketable.New("stream", "element")
	h, err := dynamohistory.New(table, "history")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	p, err := h.Begin(t.Context(), "web")
	must(err)
	for i := range 6 {
		kind := muster.Changed
		if i > 2 {
			kind = muster.Learned // of one hour: they are folded, in a transaction
		}
		p, err = h.Append(t.Context(), "web", p, muster.Record{At: now.Add(-200 * time.Hour), Kind: kind,
			Body: []byte(`{"processing":{"count":1,"sum_s":1,"buckets":{"0":1}}}`)})
		must(err)
	}
	_, err = h.Prune(t.Context(), now, 0)
	must(err)
	leases := dynamolease.New(table, "history")
	s := leader.Session{ID: "a", Name: "a", Beat: 1}
	must(leases.Beat(t.Context(), s))
	must(leases.Take(t.Context(), "web", leader.Claim{}, leader.Claim{Holder: "a", Term: 1}))
	_, err = leases.Read(t.Context(), true)
	must(err)
	must(leases.Evict(t.Context(), s))

	c, err := kinds.Parse("m.yaml", []byte(fmt.Sprintf("version: 1\naws: {region: %s}\ncontrollers: {store: "+
		"dynamodb:history}\nfleets: [{name: web, queue: %q, max: 9, asg: {group: web}}]", region, queueURL)))
	must(err)
	policy, err := iam.Make(c, kinds.Table(), iam.Options{Mode: kind.ModeUp})
	must(err)
	allowed := map[string]bool{}
	for _, statement := range policy.Statement {
		for _, a := range statement.Action {
			if name, ok := strings.CutPrefix(a, "dynamodb:"); ok {
				allowed[name] = true
				want := "arn:aws:dynamodb:" + region + ":000000000000:table/history"
				if !slices.Contains(statement.Resource, want) {
					t.Errorf("%s is allowed on %q, want %s", a, statement.Resource, want)
				}
			}
		}
	}
	called := table.Calls()
	delete(called, "TransactWriteItems") // needs the permissions of its writes
	if diff := cmp.Diff(slices.Sorted(maps.Keys(allowed)), slices.Sorted(maps.Keys(called))); diff != "" {
		t.Errorf("allowed and called actions (-allowed +called):\n%s", diff)
	}
}
