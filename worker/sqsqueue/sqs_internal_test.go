package sqsqueue

import (
	"testing"
)

func TestFIFOQueuesGiveOneMessageAtATime(t *testing.T) {
	for name, want := range map[string]int{"orders.fifo": 1, "orders": 10} {
		if got := (&SQS{name: name}).most(25); got != int32(want) {
			t.Errorf("queue %s is asked for %d messages, want %d", name, got, want)
		}
	}
}
