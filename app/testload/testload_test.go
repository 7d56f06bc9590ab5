package testload

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBodiesAreMadeOrRead(t *testing.T) {
	for _, row := range []struct {
		name string
		load Load
		in   string
		want []string
	}{
		{"the same ones", Load{Count: 2, Body: "hello"}, "", []string{"hello", "hello"}},
		{"durations", Load{Count: 2, Duration: time.Second}, "", []string{"1s", "1s"}},
		{"lines without blank ones", Load{Count: 1, Bodies: "-"}, "a\n\nb\n", []string{"a", "b"}},
		{"so many lines", Load{Count: 2, Bodies: "-"}, "a\nb\nc\n", []string{"a", "b"}},
	} {
		got, err := row.load.Make(strings.NewReader(row.in))
		if err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%s: found %q, %v; want %q", row.name, got, err, row.want)
		}
	}
	for _, wrong := range []Load{{}, {Count: 1, Rate: 1, Over: time.Second}, {Count: 1, Spread: -1},
		{Count: 1, Bodies: "-"}} {
		if got, err := wrong.Make(strings.NewReader("")); err == nil {
			t.Errorf("%+v makes %q", wrong, got)
		}
	}
}
