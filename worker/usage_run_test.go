package worker_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
	"github.com/muster-scale/muster/worker/usage"
)

func TestACommandAddsWhatItUsedToItsCall(t *testing.T) {
	ctx, meter := usage.Watch(t.Context())
	command := plays("play-copy", filepath.Join(t.TempDir(), "copy"))
	if err := command.Run(ctx, worker.Message{ID: "a", Body: "b"}); err != nil {
		t.Fatal(err)
	}
	u := meter.Sum()
	if u == nil || u.Calls != 1 || u.WallSeconds <= 0 || u.CPUSeconds <= 0 || u.PeakBytes == 0 || u.Cores < 1 {
		t.Errorf("found %+v, want one call with its times", u)
	}
	if err := command.Run(context.Background(), worker.Message{ID: "a", Body: "b"}); err != nil {
		t.Errorf("a call that nothing measures: %v", err)
	}
}

func TestAProgramOfJSONLinesAddsWhatItUsedNowAndThen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc")
	}
	lines, _ := speakers(t, "ready", execution.LinesOptions{})
	ctx, meter := usage.Watch(t.Context())
	calls := int64(0)
	for end := time.Now().Add(10 * time.Second); meter.Sum() == nil && time.Now().Before(end); calls++ {
		if err := lines.Do(ctx, worker.Message{ID: "a", Body: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
	if u := meter.Sum(); u == nil || u.Calls != calls || u.WallSeconds <= 0 || u.PeakBytes == 0 {
		t.Errorf("after %d calls: found %+v", calls, u)
	}
}
