package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"slices"
	"time"
)

// entry is a file or directory of an archive or of the image. A directory ends with a slash and has no content. uid is
// its owner and its group.
type entry struct {
	// name is the path, without a slash in front.
	name string
	// mode are the permissions.
	mode int64
	uid  int
	text []byte
}

// archive writes the archive for tar: everything in one directory, so that unpacking it scatters nothing.
func (s stage) archive(w io.Writer) error {
	top := s.program.base() + "_" + s.program.os + "_" + s.program.arch + "/"
	text, err := os.ReadFile(s.program.path)
	if err != nil {
		return err
	}
	all := []entry{
		{name: top, mode: 0o755}, {name: top + "muster", mode: 0o755, text: text},
		{name: top + "LICENSE", mode: 0o644, text: s.licence}, {name: top + "README.md", mode: 0o644, text: s.readme},
		{name: top + "CHANGELOG.md", mode: 0o644, text: s.changes},
		{name: top + "LICENSES-OF-MODULES.txt", mode: 0o644, text: s.notices},
		{name: top + "muster.spdx.json", mode: 0o644, text: s.bill},
		{name: top + "muster.yaml", mode: 0o644, text: s.starter}, {name: top + "completions/", mode: 0o755},
	}
	for _, name := range slices.Sorted(maps.Keys(s.completions)) {
		all = append(all, entry{name: top + "completions/" + name, mode: 0o644, text: s.completions[name]})
	}
	// Its header has neither a name nor a time, unless they are set. The best compression would take three times as
	// long, and save less than one byte of a hundred.
	zip := gzip.NewWriter(w)
	if err := writeTar(zip, all, s.program.at); err != nil {
		return err
	}
	return zip.Close()
}

// writeTar writes the entries in their order, all with one time and without names of users: those of this machine would
// change the bytes. USTAR bounds a path to 255 bytes and a file to 8 GiB, and every tar reads it.
func writeTar(w io.Writer, all []entry, at time.Time) error {
	out := tar.NewWriter(w)
	for _, e := range all {
		h := tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.text)), ModTime: at, Uid: e.uid, Gid: e.uid,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if e.name[len(e.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := out.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := out.Write(e.text); err != nil {
			return err
		}
	}
	return out.Close()
}
