package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
)

// TestArithmeticOfOneLine recomputes the examples that docs/arithmetic.md gives for the policies whose rule is one
// line, and for what bounds every policy. Package policy/planning has the others.
func TestArithmeticOfOneLine(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "arithmetic.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	size := func(p muster.Policy, s see) int { return p.Decide(s.observation(), nil).Desired }
	const stated, latency = 2400 * time.Millisecond, 300 * time.Second
	for _, worked := range []string{
		fmt.Sprintf("`backlog-per-worker` with an objective of 300 s and stated work of 2.4 s accepts %s messages for "+
			"each worker; a backlog of 1000 takes %d workers.",
			render.Number(policy.AcceptableBacklog(latency, stated, 1)),
			size(policy.BacklogPerWorker{Processing: stated}, see{backlog: 1000, latency: latency})),
		fmt.Sprintf("`dynamic-backlog` with a backlog of 600, measured work of 2.4 s and the same objective takes "+
			"ceil(600 x 2.4 / 300) = %d workers.",
			size(policy.DynamicBacklog{}, see{backlog: 600, mpd: stated, latency: latency})),
		fmt.Sprintf("`worker-utilization` with a backlog of 60, 20 messages in flight, 4 slots a worker and a target "+
			"of 0.7 takes ceil(80 / 2.8) = %d workers.",
			size(policy.WorkerUtilization{Target: 0.7}, see{backlog: 60, inFlight: 20, busy: 5, slots: 4})),
		fmt.Sprintf("12 workers are needed and 25 %% are kept warm: %d.",
			size(policy.Headroom{Of: policy.BacklogPerWorker{Acceptable: 1}, Percent: 25}, see{backlog: 12})),
		fmt.Sprintf("a budget of 1 an hour and a price of 0.32 pay for %d workers.", policy.Affordable(1, 0.32)),
	} {
		if !strings.Contains(page, "*Worked*: "+worked) {
			t.Errorf("docs/arithmetic.md does not say what the code computes:\n%s", worked)
		}
	}
}
