// Command generate makes images to shrink: gradients with shapes on them, of very different sizes. The same flags give
// the same files. It prints one message for each image, as muster send --bodies reads them.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
)

const (
	// maxCount bounds the images of a set, maxEdge the edges of one in pixels.
	maxCount, maxEdge = 10_000, 6000
	// pngEvery is how many images there are to each PNG; the others are JPEG.
	pngEvery = 4
)

// options say what to make.
type options struct {
	count             int
	seed              uint64
	folder, set       string
	smallest, largest image.Point
}

// message is a message for resize.
type message struct {
	Image string `json:"image"`
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run reads the flags and makes the images.
func run(args []string, stdout io.Writer) error {
	o := options{smallest: image.Pt(200, 150), largest: image.Pt(4000, 3000)}
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	flags.IntVar(&o.count, "n", 12, "how many images")
	flags.Uint64Var(&o.seed, "seed", 1, "the seed of sizes and pictures")
	flags.StringVar(&o.folder, "out", "images", "the folder of the images")
	flags.StringVar(&o.set, "set", "mixed", "the folder of this set below it")
	flags.Func("smallest", "the smallest size (default 200x150)",
		func(s string) (err error) { o.smallest, err = parseSize(s); return err })
	flags.Func("largest", "the largest size (default 4000x3000)",
		func(s string) (err error) { o.largest, err = parseSize(s); return err })
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case o.count < 1 || o.count > maxCount:
		return fmt.Errorf("-n: found %d, allowed is 1 to %d", o.count, maxCount)
	case o.smallest.X > o.largest.X || o.smallest.Y > o.largest.Y:
		return fmt.Errorf("-smallest: found %v, allowed is at most the largest, %v", o.smallest, o.largest)
	case !filepath.IsLocal(o.set):
		return fmt.Errorf("-set: found %q, allowed is a folder below -out", o.set)
	}
	return o.generate(stdout)
}

// parseSize parses a size such as 200x150, in pixels.
func parseSize(text string) (size image.Point, err error) {
	if _, err := fmt.Sscanf(text, "%dx%d", &size.X, &size.Y); err != nil || min(size.X, size.Y) < 1 ||
		max(size.X, size.Y) > maxEdge {
		return size, fmt.Errorf("found %q, allowed is a size such as 200x150, up to %dx%d", text, maxEdge, maxEdge)
	}
	return size, nil
}

// generate makes the images and prints their messages.
func (o options) generate(stdout io.Writer) error {
	if err := os.MkdirAll(filepath.Join(o.folder, o.set), 0o755); err != nil {
		return fmt.Errorf("make the folder of the set: %w", err)
	}
	messages := json.NewEncoder(stdout)
	random := rand.New(rand.NewPCG(o.seed, 0))
	for i := range o.count {
		// Evenly between the two on a logarithmic scale, the extremes first: so every set has both, whatever the seed.
		share := random.Float64()
		if i < 2 {
			share = float64(i)
		}
		size := image.Pt(between(o.smallest.X, o.largest.X, share), between(o.smallest.Y, o.largest.Y, share))
		extension := ".jpg"
		if i%pngEvery == pngEvery-1 {
			extension = ".png"
		}
		name := path.Join(filepath.ToSlash(o.set), fmt.Sprintf("%04d%s", i+1, extension))
		if err := save(filepath.Join(o.folder, name), picture(random, size)); err != nil {
			return fmt.Errorf("write the image %s: %w", name, err)
		}
		if err := messages.Encode(message{name}); err != nil {
			return err
		}
	}
	return nil
}

// between returns the number that lies between two others by the given share, 0 to 1, on a logarithmic scale.
func between(smallest, largest int, share float64) int {
	return int(math.Round(float64(smallest) * math.Pow(float64(largest)/float64(smallest), share)))
}

// picture draws a gradient with discs on it.
func picture(random *rand.Rand, size image.Point) *image.RGBA {
	m := image.NewRGBA(image.Rectangle{Max: size})
	blue := uint8(random.IntN(256))
	for y := range size.Y {
		for x := range size.X {
			m.SetRGBA(x, y, color.RGBA{uint8(255 * x / size.X), uint8(255 * y / size.Y), blue, 255})
		}
	}
	for range 6 {
		centre := image.Pt(random.IntN(size.X), random.IntN(size.Y))
		radius := 1 + random.IntN(1+min(size.X, size.Y)/5)
		disc(m, centre, radius, color.RGBA{uint8(random.IntN(256)), uint8(random.IntN(256)), uint8(random.IntN(256)),
			255})
	}
	return m
}

// disc fills a circle, as far as it is inside the image.
func disc(m *image.RGBA, centre image.Point, radius int, c color.RGBA) {
	square := image.Rect(-radius, -radius, radius+1, radius+1).Add(centre).Intersect(m.Rect)
	for y := square.Min.Y; y < square.Max.Y; y++ {
		for x := square.Min.X; x < square.Max.X; x++ {
			if d := image.Pt(x, y).Sub(centre); d.X*d.X+d.Y*d.Y <= radius*radius {
				m.SetRGBA(x, y, c)
			}
		}
	}
}

// save writes an image in the format that its name says. PNG is compressed fast rather than well.
func save(name string, m image.Image) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if filepath.Ext(name) == ".png" {
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(f, m)
	} else {
		err = jpeg.Encode(f, m, nil)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
