package arch_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// clocks are the files and packages that may read the clock: the live loop and what touches the world.
var clocks = []string{
	"controller/loop/",
	"event/receiver/",
	"leader/term/",
	"notice/",
	"channel/",
	"queue/internal/writer/",
	"sqsapi/",
	"worker/",
	"tree/runner/",
	"tree/dynamotree/",
	"source/",
	"fleet/",
	"server/",
	"app/",
	"cmd/",
	"internal/accept/",
	"internal/awsmetrics/",
	"internal/descendants/",
	"internal/host/",
	"internal/joblog/",
	"internal/powercut/",
	"internal/realcrash/",
	"mustertest/postgres/",
	"internal/sqlitefile/shared.go",
	"internal/terminal/",
	"examples/",
	"tools/",
}

func TestOnlyTheShellReadsAClock(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pure, s.pkg) &&
			slices.ContainsFunc(clocks, func(p string) bool { return strings.HasPrefix(s.path, p) }) {
			continue
		}
		calls(s, func(pkg, name string, n ast.Node) {
			if pkg == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "NewTimer",
				"NewTicker", "Tick", "AfterFunc"}, name) {
				t.Errorf("%s: time.%s.\nwhy: what reads no clock can be replayed. fix: take the instant as an argument",
					s.at(n), name)
			}
		})
	}
}

func TestTestsDoNotSleepOutsideABubble(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test || strings.Contains(s.text, "testing/synctest") {
			continue
		}
		calls(s, func(pkg, name string, n ast.Node) {
			if pkg == "time" && name == "Sleep" {
				t.Errorf("%s: time.Sleep in a test.\nwhy: it is slow when right and flaky when wrong. fix: use "+
					"testing/synctest, or wait for the event", s.at(n))
			}
		})
	}
}

func TestNothingPanicsOrStartsByItself(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "panic" {
					t.Errorf("%s: panic.\nwhy: one bad value must not stop every fleet. fix: return an error", s.at(n))
				}
			}
			if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: init.\nwhy: registration by side effect cannot be followed. fix: wire it in cmd", s.at(n))
			}
			return true
		})
	}
}

func TestPackagesKeepNoState(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.syntax.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR || embedded(g) {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				if !constant(v) {
					t.Errorf("%s: package variable %s.\nwhy: state shared by everybody belongs to nobody. fix: make "+
						"it a constant, a function or a field", s.at(v), v.Names[0].Name)
				}
			}
		}
	}
}

// embedded tells whether a declaration is of a file that the build puts in.
func embedded(g *ast.GenDecl) bool {
	return g.Doc != nil && slices.ContainsFunc(g.Doc.List,
		func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed") })
}

// constant tells whether a package variable is one that nobody changes: an assertion, an error, an expression compiled
// once, a computed number, or the version that the linker sets.
func constant(v *ast.ValueSpec) bool {
	for i, name := range v.Names {
		switch {
		case name.Name == "_" || name.Name == "version" || strings.HasPrefix(name.Name, "Err") ||
			strings.HasPrefix(name.Name, "err"):
			continue
		case i < len(v.Values) && readOnly(v.Values[i]):
			continue
		}
		return false
	}
	return true
}

// readOnly allows tables (composite literals), calls of regexp.MustCompile, errors.New, strings.NewReplacer and math,
// and arithmetic.
func readOnly(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BinaryExpr, *ast.BasicLit, *ast.CompositeLit, *ast.ParenExpr:
		return true
	case *ast.CallExpr:
		if f, ok := x.Fun.(*ast.SelectorExpr); ok {
			pkg, _ := f.X.(*ast.Ident)
			return pkg != nil && slices.Contains([]string{"regexp", "errors", "strings", "math", "crc32", "base64",
				"base32", "template"}, pkg.Name) ||
				f.Sel.Name == "Date" || f.Sel.Name == "WithPadding" || f.Sel.Name == "Strict"
		}
	}
	return false
}

func TestNamesSayWhatThingsAre(t *testing.T) {
	avoid := []string{"manager", "handler", "helper", "util", "utils", "processor", "engine", "info", "data", "item"}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			for _, word := range words(spec.Name.Name) {
				if slices.Contains(avoid, word) {
					t.Errorf("%s: type %s.\nwhy: %q fits everything and says nothing. fix: name it by what it is in "+
						"the field's own words", s.at(spec), spec.Name.Name, word)
				}
			}
			return true
		})
	}
}

func words(name string) (all []string) {
	start := 0
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			all = append(all, strings.ToLower(name[start:i]))
			start = i
		}
	}
	return append(all, strings.ToLower(name[start:]))
}

// calls visits every call of a function of an imported package.
func calls(s source, visit func(pkg, name string, n ast.Node)) {
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Obj == nil {
				visit(pkg.Name, sel.Sel.Name, n)
			}
		}
		return true
	})
}
