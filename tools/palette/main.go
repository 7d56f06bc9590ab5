// Command palette writes PNG files anew with at most 256 colors each, which makes a screenshot about a third as large:
//
//	go run -C tools ./palette ../docs/pictures/fleet.png
//
// It keeps the colors that most pixels have, but of colors that look the same only one, and gives each other pixel the
// nearest of them. A screenshot has few colors but for the edges of its text, so nobody sees the difference; use it for
// nothing else.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"slices"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := rewrite(path); err != nil {
			fmt.Fprintln(os.Stderr, "palette:", err)
			os.Exit(1)
		}
	}
}

// rewrite replaces a file with the same picture in at most 256 colors.
func rewrite(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	m, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, reduce(m)); err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// most is how many colors a picture with one byte for each pixel has.
const most = 256

// reduce returns m with few colors. Each color is replaced by one that is at most so far away as is needed for that. Of
// equally frequent colors those with the lower numbers are kept, so that the same picture gives the same bytes.
func reduce(m image.Image) *image.Paletted {
	count := map[color.RGBA]int{}
	each(m, func(_, _ int, c color.RGBA) { count[c]++ })
	number := func(c color.RGBA) int { return int(c.R)<<24 | int(c.G)<<16 | int(c.B)<<8 | int(c.A) }
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], number(a)-number(b))
	})
	var palette color.Palette
	for far := 0; palette == nil; far++ {
		palette = cover(all, far)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range all {
		nearest[c] = uint8(palette.Index(c))
	}
	few := image.NewPaletted(m.Bounds(), palette)
	each(m, func(x, y int, c color.RGBA) { few.SetColorIndex(x, y, nearest[c]) })
	return few
}

// cover returns colors of which each of all has one within the distance far, or nil if these are too many.
func cover(all []color.RGBA, far int) (palette color.Palette) {
	for _, c := range all {
		near := func(p color.Color) bool { return distance(p.(color.RGBA), c) <= far }
		if slices.ContainsFunc(palette, near) {
			continue
		}
		if palette = append(palette, c); len(palette) > most {
			return nil
		}
	}
	return palette
}

// distance returns how far two colors are apart in the channel in which they differ most.
func distance(a, b color.RGBA) int {
	d := func(x, y uint8) int { return max(int(x), int(y)) - min(int(x), int(y)) }
	return max(d(a.R, b.R), d(a.G, b.G), d(a.B, b.B), d(a.A, b.A))
}

// each calls do for each pixel.
func each(m image.Image, do func(x, y int, c color.RGBA)) {
	bounds := m.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			do(x, y, color.RGBAModel.Convert(m.At(x, y)).(color.RGBA))
		}
	}
}
