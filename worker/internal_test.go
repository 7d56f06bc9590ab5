package worker

import (
	"testing"
	"time"
)

func TestReceiveCallsWaitAsLongAsTheyMay(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want time.Duration
	}{
		{"twenty seconds when nobody can ask to drain", Options{Visibility: time.Minute}, 20 * time.Second},
		{"half of the visibility, so that no message is lost by waiting", Options{Visibility: 30 * time.Second},
			15 * time.Second},
		{"two seconds with a controller", Options{Visibility: time.Minute, Reporter: silent{}}, 2 * time.Second},
		{"two seconds with an idle stop", Options{Visibility: time.Minute, IdleStop: time.Hour}, 2 * time.Second},
		{"whole seconds", Options{Visibility: 5 * time.Second}, 2 * time.Second},
		{"at least one", Options{Visibility: MinVisibility}, time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.o.wait(); got != test.want {
				t.Errorf("waits %s, want %s", got, test.want)
			}
		})
	}
}

func TestPausesAfterFailedReceivesGrowToHalfAMinute(t *testing.T) {
	tests := []struct {
		failures  int
		jitter    float64
		want      time.Duration
		sentences string
	}{
		{1, 0, 250 * time.Millisecond, "the first is short"},
		{1, 0.999999, 500 * time.Millisecond, "jitter at most doubles it"},
		{3, 0, time.Second, "each is twice as long"},
		{7, 0, 15 * time.Second, "at least half of the longest"},
		{1000, 0.999999, 30 * time.Second, "at most half a minute"},
	}
	for _, test := range tests {
		t.Run(test.sentences, func(t *testing.T) {
			if got := ReceivePause(test.failures, test.jitter).Round(time.Millisecond); got != test.want {
				t.Errorf("pauses %s after %d failures, want %s", got, test.failures, test.want)
			}
		})
	}
}

// silent is a controller that says nothing.
type silent struct{ Reporter }
