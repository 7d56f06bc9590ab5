package usage_test

import (
	"context"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker/protocol"
	"github.com/muster-scale/muster/worker/usage"
)

// work makes sh count, which takes processor time, then wait for a line.
const work = `i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo done; read line`

func TestAnEndedProcessHasItsTimes(t *testing.T) {
	cmd := exec.Command("sh", "-c", work)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	u := usage.Ended(cmd.ProcessState, 2*time.Second)
	if !u.Valid() || u.Calls != 1 || u.WallSeconds != 2 || u.CPUSeconds <= 0 || u.PeakBytes < 1<<16 || u.Cores < 1 {
		t.Errorf("found %+v", u)
	}
	if u := usage.Ended(nil, time.Second); u.Calls != 0 {
		t.Errorf("of no process: found %+v, want none", u)
	}
}

func TestARunningProcessHasWhatWasAddedSince(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc")
	}
	cmd := exec.Command("sh", "-c", `read begin; `+work)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := usage.NewProcess(cmd.Process.Pid)
	began := time.Now()
	if u := p.Called(time.Millisecond); u.Calls != 0 {
		t.Errorf("right after the first reading: found %+v, want none", u)
	}
	_, _ = in.Write([]byte("\n"))
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	var u protocol.Usage
	calls := int64(1)
	for u.Calls == 0 && time.Since(began) < 10*time.Second {
		u = p.Called(time.Second)
		calls++
	}
	if !u.Valid() || u.Calls != calls || u.WallSeconds < float64(calls-1) || u.CPUSeconds <= 0 ||
		u.CPUSeconds > time.Since(began).Seconds()+1 || u.PeakBytes == 0 {
		t.Errorf("after %d calls: found %+v", calls, u)
	}
	_ = in.Close()
	_ = cmd.Wait()
	if u := p.Called(time.Second); u.Calls != 0 {
		t.Errorf("of a process that ended: found %+v, want none", u)
	}
}

func TestAMeterAddsWhatIsValid(t *testing.T) {
	ctx, meter := usage.Watch(context.Background())
	if meter.Sum() != nil {
		t.Error("a new meter has something")
	}
	usage.Add(ctx, protocol.Usage{Calls: 1, CPUSeconds: -1})
	usage.Add(context.Background(), protocol.Usage{Calls: 1})
	if meter.Sum() != nil {
		t.Error("an invalid usage, or that of another call, was added")
	}
	usage.Add(ctx, protocol.Usage{Calls: 1, CPUSeconds: 1})
	usage.Add(ctx, protocol.Usage{Calls: 2, CPUSeconds: 2})
	if sum := meter.Sum(); sum == nil || sum.Calls != 3 || sum.CPUSeconds != 3 {
		t.Errorf("found %+v, want 3 calls and 3 s", sum)
	}
}

func TestTheMachineHasCores(t *testing.T) {
	cores, memory := usage.Machine()
	if cores < 1 || memory < 0 || runtime.GOOS == "linux" && memory == 0 {
		t.Errorf("found %v cores and %d bytes", cores, memory)
	}
}
