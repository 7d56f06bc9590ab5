package main

import (
	"bytes"
	"encoding/json"
	"image"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheSameSeedGivesTheSameImagesOfSizesFromTheSmallestToTheLargest(t *testing.T) {
	args := []string{"-n", "5", "-smallest", "20x15", "-largest", "80x60", "-seed", "7"}
	one, two := t.TempDir(), t.TempDir()
	var list bytes.Buffer
	if err := run(append(args, "-out", one), &list); err != nil {
		t.Fatal(err)
	}
	if err := run(append(args, "-out", two), io.Discard); err != nil {
		t.Fatal(err)
	}
	sizes := map[image.Point]bool{}
	for line := range strings.Lines(list.String()) {
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		a, errA := os.ReadFile(filepath.Join(one, m.Image))
		b, errB := os.ReadFile(filepath.Join(two, m.Image))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: the second file is not the first: %v, %v", m.Image, errA, errB)
		}
		c, _, err := image.DecodeConfig(bytes.NewReader(a))
		if err != nil {
			t.Errorf("%s: %v", m.Image, err)
		}
		sizes[image.Pt(c.Width, c.Height)] = true
	}
	if len(sizes) != 5 || !sizes[image.Pt(20, 15)] || !sizes[image.Pt(80, 60)] {
		t.Errorf("the sizes are %v, want five, with 20x15 and 80x60", sizes)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, args := range []string{"-n 0", "-n 10001", "-smallest 0x5", "-largest 7000x10", "-largest 100",
		"-smallest 900x10 -largest 800x600", "-set ../other"} {
		folder := t.TempDir()
		if err := run(append(strings.Fields(args), "-out", folder), io.Discard); err == nil {
			t.Errorf("%s was accepted", args)
		}
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Errorf("%s left %v", args, left)
		}
	}
}
