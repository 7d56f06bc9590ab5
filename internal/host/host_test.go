package host

import (
	"strconv"
	"testing"
)

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
