package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/muster-scale/muster"

// source is one Go file of the project.
type source struct {
	path    string // from the module's root
	pkg     string // its package's path below the module; empty for the root
	test    bool
	lines   int
	text    string
	syntax  *ast.File
	fileset *token.FileSet
}

// sources parses every Go file of the module, and of the tools beside it, which keep the same rules.
func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var all []source
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root &&
				path != filepath.Join(root, "tools") {
				return filepath.SkipDir // another module
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s := source{test: strings.HasSuffix(path, "_test.go"), text: string(text), fileset: token.NewFileSet()}
		s.lines = strings.Count(s.text, "\n")
		s.path, _ = filepath.Rel(root, path)
		if s.pkg = filepath.ToSlash(filepath.Dir(s.path)); s.pkg == "." {
			s.pkg = ""
		}
		s.syntax, err = parser.ParseFile(s.fileset, path, text, parser.ParseComments)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found %d files below %s: the tests look in the wrong place", len(all), root)
	}
	return all
}

// at is a place a person can jump to.
func (s source) at(n ast.Node) string {
	p := s.fileset.Position(n.Pos())
	return s.path + ":" + itoa(p.Line)
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}
