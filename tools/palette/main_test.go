package main

import (
	"image"
	"image/color"
	"testing"
)

func TestRareColorsBecomeFrequentOnesThatLookTheSame(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 400, 4))
	for x := range 400 {
		for y := range 4 {
			m.Set(x, y, color.RGBA{uint8(x / 2), uint8(x % 2), 0, 255}) // 400 colors, pairs of which differ by 1
		}
	}
	// Two colors that one pixel each has: one beside a frequent color, and one that differs from all.
	near, alone := color.RGBA{0, 0, 1, 255}, color.RGBA{0, 0, 200, 255}
	m.Set(1, 0, near)
	m.Set(3, 0, alone)
	few := reduce(m)
	if len(few.Palette) > 256 {
		t.Fatalf("%d colors, at most 256 are possible", len(few.Palette))
	}
	each(m, func(x, y int, c color.RGBA) {
		if got := few.At(x, y).(color.RGBA); distance(got, c) > 1 {
			t.Errorf("%v at %d,%d became %v", c, x, y, got)
		}
	})
	if got := few.At(3, 0); got != alone {
		t.Errorf("the only blue became %v", got)
	}
}
