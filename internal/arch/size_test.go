package arch_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxFunction, p90Function = 80, 40
	maxFile, p90File         = 600, 350
	maxMethods               = 3
)

func TestFunctionsAndFilesAreShort(t *testing.T) {
	var functions, files []int
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		files = append(files, s.lines)
		if s.lines > maxFile {
			t.Errorf("%s has %d lines, at most %d are allowed.\nwhy: a file is one thought. fix: split it by what "+
				"its parts are about", s.path, s.lines, maxFile)
		}
		for _, d := range s.syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			lines := s.fileset.Position(f.End()).Line - s.fileset.Position(f.Pos()).Line + 1
			functions = append(functions, lines)
			if lines > maxFunction {
				t.Errorf("%s: %s has %d lines, at most %d are allowed.\nwhy: a function is read at one look. fix: "+
					"give its parts names", s.at(f), f.Name.Name, lines, maxFunction)
			}
		}
	}
	if p := p90(functions); p > p90Function {
		t.Errorf("one function in ten is longer than %d lines, allowed is %d", p, p90Function)
	}
	if p := p90(files); p > p90File {
		t.Errorf("one file in ten is longer than %d lines, allowed is %d", p, p90File)
	}
}

// maxPackage bounds the lines of a package beside tests.
const maxPackage = 2500

func TestPackagesAreSmall(t *testing.T) {
	size := map[string]int{}
	for _, s := range sources(t) {
		if !s.test {
			size[s.pkg] += s.lines
		}
	}
	const why = "why: a package is what one can know as a whole. " +
		"fix: find what its parts need not know of each other, and make packages of them"
	for pkg, lines := range size {
		if lines > maxPackage {
			t.Errorf("package %q has %d lines beside tests, at most %d are allowed.\n"+why, pkg, lines, maxPackage)
		}
	}
}

func p90(n []int) int {
	slices.Sort(n)
	return n[len(n)*9/10]
}

func TestInterfacesAreSmall(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				methods := 0
				for _, m := range i.Methods.List {
					methods += len(m.Names)
				}
				if methods > maxMethods {
					t.Errorf("%s: interface %s has %d methods, at most %d are allowed.\nwhy: what is small is easy "+
						"to implement and to fake. fix: split it by who uses it", s.at(spec), spec.Name.Name, methods,
						maxMethods)
				}
			}
			return true
		})
	}
}

func TestEveryPackageAndExportedNameIsDocumented(t *testing.T) {
	documented := map[string]bool{}
	packages := map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		packages[s.pkg] = s.path
		if s.syntax.Doc != nil {
			documented[s.pkg] = true
		}
		for _, d := range s.syntax.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s has no comment that begins with its name.\nwhy: names alone hide units, ranges, "+
					"errors and concurrency. fix: say them", s.at(d), name)
			}
		}
	}
	for pkg, path := range packages {
		if !documented[pkg] {
			t.Errorf("%s: package %q has no comment. fix: say in one sentence what it does", path, pkg)
		}
	}
}

func undocumented(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) && !begins(d.Doc, d.Name.Name) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch x := spec.(type) {
			case *ast.TypeSpec:
				if x.Name.IsExported() && !begins(d.Doc, x.Name.Name) && !begins(x.Doc, x.Name.Name) {
					names = append(names, x.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range x.Names {
					// Names of one group may share the group's comment.
					if n.IsExported() && d.Doc == nil && x.Doc == nil {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

func begins(doc *ast.CommentGroup, name string) bool {
	if doc == nil {
		return false
	}
	text := strings.TrimSpace(doc.Text())
	for _, article := range []string{"", "A ", "An ", "The "} {
		if strings.HasPrefix(text, article+name) {
			return true
		}
	}
	return false
}

func exportedReceiver(r *ast.FieldList) bool {
	exported := false
	ast.Inspect(r, func(n ast.Node) bool {
		if i, ok := n.(*ast.Ident); ok && i.IsExported() {
			exported = true
		}
		return true
	})
	return exported
}

// maxColumns bounds lines, a tab counted as four columns.
const (
	// leastComments and mostComments bound the percentage of comment lines among the lines that are not blank, of the
	// whole program. packageComments is the least of a package of at least smallPackage such lines.
	leastComments, mostComments   = 15, 25
	packageComments, smallPackage = 11, 200
)

// TestCommentsAreEnoughAndNotTooMany holds the share of comments, so that reasons are written down and code is not
// retold.
func TestCommentsAreEnoughAndNotTooMany(t *testing.T) {
	type count struct{ comments, lines int }
	packages := map[string]count{}
	var all count
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		c := count{commentLines(s), 0}
		for line := range strings.Lines(s.text) {
			if strings.TrimSpace(line) != "" {
				c.lines++
			}
		}
		p := packages[s.pkg]
		packages[s.pkg] = count{p.comments + c.comments, p.lines + c.lines}
		all = count{all.comments + c.comments, all.lines + c.lines}
	}
	if share := 100 * all.comments / all.lines; share < leastComments || share > mostComments {
		t.Errorf("%d of 100 lines are comments, want %d to %d.\nwhy: code says what happens, and only a comment says "+
			"why", share, leastComments, mostComments)
	}
	for pkg, c := range packages {
		if share := 100 * c.comments / c.lines; c.lines >= smallPackage && share < packageComments {
			t.Errorf("package %q: %d of 100 lines are comments, want %d or more.\nwhy: code says what happens, and "+
				"only a comment says why. fix: write down units, invariants, sources of formulas and what breaks "+
				"without a line; leave out what the code says", pkg, share, packageComments)
		}
	}
}

// commentLines counts the lines that are comments alone.
func commentLines(s source) int {
	n := 0
	for _, group := range s.syntax.Comments {
		for _, c := range group.List {
			from, to := s.fileset.Position(c.Pos()), s.fileset.Position(c.End())
			if line := lineOf(s.text, from.Line); strings.HasPrefix(strings.TrimSpace(line), "/") {
				n += to.Line - from.Line + 1
			}
		}
	}
	return n
}

// lineOf returns a line of a text, counted from 1.
func lineOf(text string, number int) string {
	for line := range strings.Lines(text) {
		if number--; number == 0 {
			return line
		}
	}
	return ""
}

const maxColumns = 120

// TestLinesAreShort holds all lines of Go to the bound, but those of raw strings, which are the text of something else,
// and texts without a space, which nothing can break.
func TestLinesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		raw := rawLines(s)
		for i, line := range strings.Split(s.text, "\n") {
			columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if columns > maxColumns && !raw[i+1] && !unbroken(line) {
				t.Errorf("%s:%d has %d columns, at most %d are allowed.\nwhy: two files are read side by side. "+
					"fix: break it behind a comma or an operator", s.path, i+1, columns, maxColumns)
			}
		}
	}
}

// rawLines are the lines that have a part of a raw string.
func rawLines(s source) map[int]bool {
	raw := map[int]bool{}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(l.Value, "`") {
			from, to := s.fileset.Position(l.Pos()).Line, s.fileset.Position(l.End()).Line
			for line := from; line <= to; line++ {
				raw[line] = true
			}
		}
		return true
	})
	return raw
}

// unbroken tells whether a line has a word of such a length that the line cannot be broken before it reaches the bound.
func unbroken(line string) bool {
	return slices.ContainsFunc(strings.Fields(line),
		func(word string) bool { return utf8.RuneCountInString(word) > 70 })
}
