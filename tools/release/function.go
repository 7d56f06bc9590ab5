package main

import (
	"archive/zip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxFunction bounds the zip of the functions in bytes. Lambda unpacks it at each cold start.
const maxFunction = 15 << 20

// function builds the functions of AWS Lambda for a platform and writes their zip, as Lambda takes it: the program is
// the file bootstrap. s is the stage of the main program, which has the licence; sources are those of [moduleDirs].
func (r *release) function(ctx context.Context, p platform, s stage, sources map[string]string) error {
	fmt.Fprintf(r.out, "building the functions for %s\n", p)
	built, err := buildProgram(ctx, r.root, p, source{functionFolder, functionTags},
		filepath.Join(r.work, p.os+"-"+p.arch, "muster-lambda"))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(built.path)
	if err != nil {
		return err
	}
	linked, err := licences(built.build, sources)
	if err != nil {
		return err
	}
	sum, err := sumOf(built.path)
	if err != nil {
		return err
	}
	bill, err := billOfMaterials(built, hex.EncodeToString(sum), linked)
	if err != nil {
		return err
	}
	name := "muster-lambda_" + strings.TrimPrefix(built.version, "v") + "_" + p.os + "_" + p.arch + ".zip"
	return r.write(name, func(w io.Writer) error {
		return writeZip(w, []entry{
			{name: "bootstrap", mode: 0o755, text: text}, {name: "LICENSE", mode: 0o644, text: s.licence},
			{name: "LICENSES-OF-MODULES.txt", mode: 0o644, text: notices(linked)},
			{name: "muster-lambda.spdx.json", mode: 0o644, text: bill},
		}, built.at)
	})
}

// writeZip writes the files in their order, all with one time. It fails if the result exceeds maxFunction.
func writeZip(w io.Writer, all []entry, at time.Time) error {
	counted := &countingWriter{w: w}
	out := zip.NewWriter(counted)
	for _, e := range all {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(e.mode))
		f, err := out.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.text); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	if counted.n > maxFunction {
		return fmt.Errorf("the zip of the functions has %d bytes, allowed are %d; do without the dependency that came",
			counted.n, maxFunction)
	}
	return nil
}

// countingWriter counts the bytes that it passes on.
type countingWriter struct {
	w io.Writer
	n int
}

// Write implements [io.Writer].
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}
