package arch_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// maxWords bounds the words of the vocabulary.
const maxWords = 70

// TestTheVocabularyIsShort counts the words that a reader of `go doc .` has to learn: every exported type, function,
// variable and constant of the root package. Methods and fields belong to their type. So do the values of an
// enumeration, the constants that are declared with a type of the package itself: Reason is one word, and its values
// are listed below it.
func TestTheVocabularyIsShort(t *testing.T) {
	var words []string
	for _, s := range sources(t) {
		if s.pkg != "" || s.test {
			continue
		}
		for _, d := range s.syntax.Decls {
			words = append(words, exported(d)...)
		}
	}
	slices.Sort(words)
	if len(words) < 20 {
		t.Fatalf("found the words %q: the test looks in the wrong place", words)
	}
	if len(words) > maxWords {
		t.Errorf("the root package has %d words, at most %d are allowed: %s.\nwhy: everybody reads this page first. "+
			"fix: a wire format, what one kind needs, and what helps to write text have packages of their own",
			len(words), maxWords, strings.Join(words, ", "))
	}
}

// exported lists the exported names that a declaration adds to its package, without methods and values of enumerations.
func exported(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch x := spec.(type) {
			case *ast.TypeSpec:
				if x.Name.IsExported() {
					names = append(names, x.Name.Name)
				}
			case *ast.ValueSpec:
				if of, ok := x.Type.(*ast.Ident); ok && of.IsExported() { // the value of an enumeration
					continue
				}
				for _, n := range x.Names {
					if n.IsExported() {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
