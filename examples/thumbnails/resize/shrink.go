package main

import (
	"image"
	"image/draw"
)

// fit returns the largest size of the same shape whose edges are no longer than edge, and no larger than the original.
func fit(size image.Point, edge int) image.Point {
	longer := max(size.X, size.Y)
	if longer <= edge {
		return size
	}
	// Rounded to the nearest; a line stays a line.
	scale := func(n int) int { return max(1, (2*n*edge+longer)/(2*longer)) }
	return image.Pt(scale(size.X), scale(size.Y))
}

// shrink returns m at the given size, which must not be larger in either direction. Each pixel is the mean of the
// pixels it covers. The means are of premultiplied colours, so that transparent pixels do not tint their neighbours.
func shrink(m image.Image, size image.Point) *image.RGBA {
	full := image.Rectangle{Max: m.Bounds().Size()}
	original := image.NewRGBA(full)
	draw.Draw(original, full, m, m.Bounds().Min, draw.Src)
	small := image.NewRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		top, bottom := y*full.Max.Y/size.Y, (y+1)*full.Max.Y/size.Y
		for x := range size.X {
			left, right := x*full.Max.X/size.X, (x+1)*full.Max.X/size.X
			mean(small.Pix[small.PixOffset(x, y):][:4], original, image.Rect(left, top, right, bottom))
		}
	}
	return small
}

// mean sets the four bytes of pixel to the mean of an area, rounded. A byte has 8 bits and an image at most 50 million
// pixels, so an int holds the sums.
func mean(pixel []uint8, of *image.RGBA, area image.Rectangle) {
	var sum [4]int
	for y := area.Min.Y; y < area.Max.Y; y++ {
		row := of.Pix[of.PixOffset(area.Min.X, y):of.PixOffset(area.Max.X, y)]
		for i, v := range row {
			sum[i%4] += int(v)
		}
	}
	n := area.Dx() * area.Dy()
	for i := range sum {
		pixel[i] = uint8((sum[i] + n/2) / n)
	}
}
