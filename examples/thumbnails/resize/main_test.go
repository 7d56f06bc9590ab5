package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPixelIsTheMeanOfThoseItCovers(t *testing.T) {
	m := image.NewNRGBA(image.Rect(10, 10, 15, 12)) // five by two, and not at the origin
	for x := range 5 {
		for y := range 2 {
			m.Set(10+x, 10+y, color.Gray{uint8(10 * (2*x + y))})
		}
	}
	m.Set(14, 10, color.Transparent)
	m.Set(14, 11, color.Transparent)
	small := shrink(m, image.Pt(2, 1))
	// The left pixel covers 0, 10, 20, 30; the right one 40, 50, 60, 70 and two that are transparent.
	for x, want := range []color.RGBA{{15, 15, 15, 255}, {37, 37, 37, 170}} {
		if got := small.RGBAAt(x, 0); got != want {
			t.Errorf("pixel %d is %v, want %v", x, got, want)
		}
	}
}

func TestAThumbnailKeepsTheShape(t *testing.T) {
	for _, row := range []struct {
		name       string
		size, want image.Point
	}{
		{"a wide one by its width", image.Pt(4000, 3000), image.Pt(160, 120)},
		{"a high one by its height", image.Pt(1000, 4000), image.Pt(40, 160)},
		{"rounded to the nearest", image.Pt(1000, 667), image.Pt(160, 107)},
		{"a line stays a line", image.Pt(5000, 1), image.Pt(160, 1)},
		{"what is small enough stays", image.Pt(160, 12), image.Pt(160, 12)},
	} {
		if got := fit(row.size, 160); got != row.want {
			t.Errorf("%s: %v becomes %v, want %v", row.name, row.size, got, row.want)
		}
	}
}

func TestAMessageNamesAPathBelowTheInputFolder(t *testing.T) {
	for _, row := range []struct {
		name, message, want string // an empty path is a refusal
	}{
		{"a plain path", "a/b.png\n", "a/b.png"},
		{"JSON", `{"image": "a/b.png"}` + "\n", "a/b.png"},
		{"a path that comes back", "a/../b.png", "b.png"},
		{"a path that leads out", "a/../../b.png", ""},
		{"JSON that leads out", `{"image": "../b.png"}`, ""},
		{"an absolute path", "/etc/passwd", ""},
		{"nothing", "\n", ""},
		{"JSON without an image", `{"picture": "b.png"}`, ""},
		{"half a JSON", `{"image": "b.png"`, ""},
		{"too much", strings.Repeat("a/", maxMessage/2) + "b", ""},
	} {
		got, err := readName(nil, strings.NewReader(row.message))
		if got != row.want || (err != nil) != (row.want == "") {
			t.Errorf("%s: got %q, %v, want %q", row.name, got, err, row.want)
		}
	}
}

// TestAMessageThatComesTwiceGivesTheSameFile also holds that nothing else is left behind.
func TestAMessageThatComesTwiceGivesTheSameFile(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	put(t, filepath.Join(in, "a.png"), picture(t))
	resize := func() []byte {
		if err := run([]string{"-in", in, "-out", out, "-edge", "4"}, strings.NewReader("a.png"),
			io.Discard); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(out, "a.png"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if first := resize(); !bytes.Equal(first, resize()) {
		t.Error("the second file differs from the first")
	}
	if left, _ := os.ReadDir(out); len(left) != 1 {
		t.Errorf("there are %v, want the thumbnail alone", left)
	}
}

func TestWhatCannotBeAThumbnailIsRefusedAndLeavesNothing(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.png")
	put(t, secret, picture(t))
	in := t.TempDir()
	put(t, filepath.Join(in, "text.png"), []byte("no image"))
	put(t, filepath.Join(in, "half.png"), picture(t)[:60])
	huge := picture(t)
	copy(huge[16:], []byte{0, 0, 0x7f, 0xff, 0, 0, 0x7f, 0xff}) // the size in the file's head, and its checksum
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	put(t, filepath.Join(in, "huge.png"), huge)
	if err := os.Symlink(secret, filepath.Join(in, "link.png")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, why string }{
		{"text.png", "JPEG and PNG are allowed"},
		{"half.png", "unexpected EOF"},
		{"huge.png", "found 32767 x 32767 pixels"},
		{"link.png", "escapes"},
		{"missing.png", "no such file"},
	} {
		out := t.TempDir()
		err := run([]string{"-in", in, "-out", out}, strings.NewReader(row.name), io.Discard)
		if err == nil || !strings.Contains(err.Error(), row.why) {
			t.Errorf("%s: got %v, want an error that says %q", row.name, err, row.why)
		}
		if left, _ := os.ReadDir(out); len(left) != 0 {
			t.Errorf("%s left %v", row.name, left)
		}
	}
}

func picture(t *testing.T) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 8, 8))
	m.SetGray(3, 3, color.Gray{200})
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
