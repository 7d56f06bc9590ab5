package main

import (
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/server"
)

const (
	thumbnails = "../../examples/thumbnails"
	// lookEvery leaves the machine to the images.
	lookEvery = 300 * time.Millisecond
)

// TestTheThumbnailsExample runs the sessions of the example as its README shows them, with real images and workers.
// What only looks is tried again until it prints what it is said to print, as a person would.
func TestTheThumbnailsExample(t *testing.T) {
	st := newStage(t)
	defer st.end()
	st.configure(t, read(t, thumbnails+"/muster.yaml"))
	var small, both muster.Estimate
	for _, s := range sessions(st.local(read(t, thumbnails+"/README.md"))) {
		program, _, _ := strings.Cut(s.command, " ")
		switch {
		case program == "cd":
		case program == "go":
			buildPrograms(t, s.command, st.dir)
		case strings.HasPrefix(s.command, "muster status") && small.Count == 0:
			small = st.processed(t, 12)
			st.retry(t, s)
		case strings.HasPrefix(s.command, "muster status"):
			both = st.processed(t, 18)
			st.retry(t, s)
		case strings.HasPrefix(s.command, "muster explain"), strings.HasPrefix(s.command, "muster queue ls"):
			st.retry(t, s)
		default:
			runSession(t, s, st.dir, st.env, &st.background)
		}
	}
	if both.MeanSeconds < 2*small.MeanSeconds {
		t.Errorf("the mean processing duration does not follow the images: %v s after the small ones, %v s after the "+
			"large ones too",
			small.MeanSeconds, both.MeanSeconds)
	}
	st.checkThumbnails(t, "small.jsonl", 12)
	st.checkThumbnails(t, "large.jsonl", 6)
}

// buildPrograms runs the go build of the README where the sources are, and leaves the programs below dir.
func buildPrograms(t *testing.T, command, dir string) {
	t.Helper()
	sources, err := filepath.Glob(thumbnails + "/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		read(t, source) // go test keeps a result until a file changes that the test has read
	}
	c := exec.Command("sh", "-c", strings.Replace(command, "-o ", "-o '"+dir+"'/", 1))
	c.Dir = thumbnails
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("README: $ %s: %v\n%s", command, err, out)
	}
}

// retry runs a session that changes nothing until it prints what is said.
func (st *stage) retry(t *testing.T, s session) {
	t.Helper()
	var out []byte
	waitUntil(t, lookEvery, func() bool {
		out, _ = st.run(s.command)
		return matches(strings.Split(string(out), "\n"), s.output)
	}, func() string {
		return fmt.Sprintf("README: $ %s\nprinted\n%s\nand is said to print\n%s", s.command, out,
			strings.Join(s.output, "\n"))
	})
}

// processed waits until so many processing durations were measured, and returns what they come to. Each is of a message
// that was worked on; one that was delivered twice adds another.
func (st *stage) processed(t *testing.T, count int64) (e muster.Estimate) {
	t.Helper()
	var out []byte
	waitUntil(t, lookEvery, func() bool {
		out, _ = st.run("muster status -f muster.yaml -o json")
		var s server.Status
		if err := json.Unmarshal(out, &s); err != nil || len(s.Fleets) != 1 {
			return false
		}
		e = s.Fleets[0].Observation.Processing
		return e.Count >= count
	}, func() string { return fmt.Sprintf("never were %d messages measured:\n%s", count, out) })
	return e
}

// checkThumbnails looks for the thumbnail of every image in a list: its longer edge has 160 pixels, the other one
// follows.
func (st *stage) checkThumbnails(t *testing.T, list string, want int) {
	t.Helper()
	lines := strings.Fields(read(t, filepath.Join(st.dir, list)))
	if len(lines) != want {
		t.Errorf("%s has %d messages, want %d", list, len(lines), want)
	}
	for _, line := range lines {
		var message struct{ Image string }
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			t.Fatal(err)
		}
		c, _, err := image.DecodeConfig(strings.NewReader(read(t, filepath.Join(st.dir, "images", message.Image))))
		if err != nil {
			t.Fatalf("%s: %v", message.Image, err)
		}
		// The whole thumbnail must decode, not its head alone.
		m, _, err := image.Decode(strings.NewReader(read(t, filepath.Join(st.dir, "thumbnails", message.Image))))
		if err != nil {
			t.Fatalf("the thumbnail of %s: %v", message.Image, err)
		}
		original, small := image.Pt(c.Width, c.Height), m.Bounds().Size()
		if h := float64(original.Y) * 160 / float64(original.X); small.X != 160 || float64(small.Y) < h-0.5 ||
			float64(small.Y) > h+0.5 {
			t.Errorf("the thumbnail of %s (%v) is %v, want 160 by %.1f", message.Image, original, small, h)
		}
	}
}
