// Command copy copies a directory tree with Muster's recursive work: each message names one directory.
//
// It reads the path of a directory below -from from standard input. It prints the directories inside as children, one
// JSON object per line, copies the files below -to, and writes their checksums to a file below -sums. Other workers
// copy the children meanwhile. At the depth limit of the tree it copies the rest itself, because a node there may have
// no children.
//
// A message may be delivered twice, so copying a directory again does no harm: files appear whole, and with the same
// content.
//
//	copy -check -to DIR -sums DIR    compares the copy with the checksums
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	from := flag.String("from", "", "the directory to copy")
	to := flag.String("to", "", "where the copy goes")
	sums := flag.String("sums", "", "where the checksums go")
	check := flag.Bool("check", false, "compare the copy with the checksums")
	flag.Parse()
	var err error
	if *check {
		err = compare(os.Stdout, *to, *sums)
	} else {
		err = copyNode(os.Stdin, os.Stdout, *from, *to, *sums)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "copy:", err)
		os.Exit(1)
	}
}

// maxPath bounds the path in a message.
const maxPath = 4096

// tree is where files are read and where they go. Both are an [os.Root], so that neither a path nor a link leads out of
// them.
type tree struct {
	from, to *os.Root
	// children gets the directories to copy in other messages; nil copies them here.
	children *json.Encoder
	// sums are the checksums of the copied files, in the format of sha256sum.
	sums bytes.Buffer
}

// child is a line that names a child. The key of a directory is its path, so Muster visits it once.
type child struct {
	Key string `json:"key"`
}

// copyNode copies the directory that in names. An error makes the attempt fail, and Muster retries it.
func copyNode(in io.Reader, out io.Writer, from, to, sums string) error {
	b, err := io.ReadAll(io.LimitReader(in, maxPath+1))
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(string(b), "\n")
	if len(b) > maxPath || !fs.ValidPath(name) {
		return fmt.Errorf("the message names %.100q, allowed is the path of a directory below -from, with slashes",
			name)
	}
	for _, dir := range []string{to, sums} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	t := &tree{}
	if t.from, err = os.OpenRoot(from); err != nil {
		return err
	}
	defer t.from.Close()
	if t.to, err = os.OpenRoot(to); err != nil {
		return err
	}
	defer t.to.Close()
	// Without Muster the variable is empty, and children are printed.
	if os.Getenv("MUSTER_TREE_DEPTH_LEFT") != "0" {
		t.children = json.NewEncoder(out)
	}
	if err := t.directory(name); err != nil {
		return err
	}
	return replace(filepath.Join(sums, cmp.Or(os.Getenv("MUSTER_TREE_NODE"), "all")), t.sums.Bytes())
}

// directory copies one directory. Directories inside become children or, at the depth limit, are copied here.
func (t *tree) directory(name string) error {
	if err := t.to.MkdirAll(name, 0o755); err != nil {
		return err
	}
	entries, err := fs.ReadDir(t.from.FS(), name)
	if err != nil {
		return err
	}
	// Children first: others copy them meanwhile.
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(order(a), order(b)) })
	for _, e := range entries {
		whole := path.Join(name, e.Name())
		switch {
		case e.IsDir() && t.children != nil:
			err = t.children.Encode(child{whole})
		case e.IsDir():
			err = t.directory(whole)
		case e.Type().IsRegular():
			err = t.file(whole)
		default:
			fmt.Fprintf(os.Stderr, "copy: %s is left out: it is neither a file nor a directory\n", whole)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// order puts directories before files.
func order(e fs.DirEntry) int {
	if e.IsDir() {
		return 0
	}
	return 1
}

// file copies one file: under another name first, so that a copy is whole or not there.
func (t *tree) file(name string) (err error) {
	in, err := t.from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	stat, err := in.Stat()
	if err != nil {
		return err
	}
	// The node in the name keeps two nodes apart. Two deliveries of the same node write the same bytes.
	part := name + ".part-" + os.Getenv("MUSTER_TREE_NODE")
	out, err := t.to.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, stat.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return errors.Join(err, t.to.Remove(part))
	}
	fmt.Fprintf(&t.sums, "%x  %s\n", sum.Sum(nil), name)
	return t.to.Rename(part, name)
}

// replace writes a file whole or not at all.
func replace(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".sums-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// compare reads the copy again and compares it with the checksums.
func compare(out io.Writer, to, sums string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	lists, err := os.ReadDir(sums)
	if err != nil {
		return err
	}
	files, size := 0, int64(0)
	for _, list := range lists {
		content, err := os.ReadFile(filepath.Join(sums, list.Name()))
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(bytes.NewReader(content))
		for lines.Scan() {
			want, name, ok := strings.Cut(lines.Text(), "  ")
			if !ok {
				return fmt.Errorf("%s is no list of checksums", list.Name())
			}
			n, err := same(root, name, want)
			if err != nil {
				return err
			}
			files, size = files+1, size+n
		}
		if err := lines.Err(); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%d files of %d bytes: all as their checksums say\n", files, size)
	return err
}

// same returns the size of a file, and an error if its checksum is not the wanted one.
func same(root *os.Root, name, want string) (int64, error) {
	f, err := root.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if got := hex.EncodeToString(sum.Sum(nil)); err == nil && got != want {
		err = fmt.Errorf("%s has the checksum %s, want %s", name, got, want)
	}
	return n, err
}
