package host

import (
	"runtime"
	"strconv"
	"testing"
	"time"
)

func TestASparePlaceIsOneMore(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	t.Setenv("GOMAXPROCS", "")
	if cores := SparePlace(); cores != before {
		t.Errorf("found %d cores, want %d: a spare place is none", cores, before)
	}
	if got := runtime.GOMAXPROCS(0); got != before+1 {
		t.Errorf("%d run at a time, want %d", got, before+1)
	}
	t.Setenv("GOMAXPROCS", "7")
	SparePlace()
	if got := runtime.GOMAXPROCS(0); got != before+1 {
		t.Errorf("%d run at a time although the environment says how many", got)
	}
}

func TestTheProcessorTimeGrowsWithWork(t *testing.T) {
	before, err := OwnTime()
	if err != nil {
		t.Fatal(err)
	}
	for now, text := before, ""; now == before; text = strconv.Itoa(len(text)) {
		if now, err = OwnTime(); err != nil || now < before {
			t.Fatalf("found %s after %s: %v", now, before, err)
		}
	}
}

func TestTheLoadIsANumber(t *testing.T) {
	if v, err := strconv.ParseFloat(Load(), 64); err != nil || v < 0 {
		t.Errorf("found %q", Load())
	}
}

// What was not suspended adds nothing, however busy the machine is.
func TestSuspendedStandsStillWhileTheMachineRuns(t *testing.T) {
	first := Suspended()
	for range 1000 {
		if later := Suspended(); later-first > 2*time.Millisecond || first-later > 2*time.Millisecond {
			t.Fatalf("found %s, and then %s", first, later)
		}
	}
}
