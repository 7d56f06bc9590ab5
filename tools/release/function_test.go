package main

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"io"
	"strings"
	"testing"
)

func TestTheZipOfTheFunctionsIsWhatLambdaTakes(t *testing.T) {
	files := []entry{{name: "bootstrap", mode: 0o755, text: []byte("program")},
		{name: "LICENSE", mode: 0o644, text: []byte("licence")}}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := writeZip(b, files, noon); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same files gave different bytes")
	}
	z, err := zip.NewReader(bytes.NewReader(first.Bytes()), int64(first.Len()))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open("bootstrap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil || string(text) != "program" || z.File[0].Mode().Perm() != 0o755 || !z.File[0].Modified.Equal(noon) {
		t.Errorf("found %q with mode %s of %s, %v", text, z.File[0].Mode(), z.File[0].Modified, err)
	}
	large := make([]byte, maxFunction)
	if _, err := rand.Read(large); err != nil {
		t.Fatal(err)
	}
	err = writeZip(io.Discard, []entry{{name: "bootstrap", mode: 0o755, text: large}}, noon)
	if err == nil || !strings.Contains(err.Error(), "allowed are 15728640") {
		t.Errorf("found %v for a zip that is too large", err)
	}
}
