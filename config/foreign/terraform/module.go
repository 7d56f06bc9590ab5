package terraform

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// Template is what a configuration of Terraform comes to.
type Template struct {
	// Root is a mapping with the key Resources, of the shape of a CloudFormation template. A resource has its address
	// in Terraform as its logical id.
	Root *yaml.Node
	// Words has Terraform's name of each property that is called otherwise in Root.
	Words map[string]string
	// Notes say what was not read.
	Notes nodes.Notes
}

// File is one file of a module, whose first line follows the line Before of the reading. The files of a directory are
// one module. Called is true of files that count only where another module calls theirs.
type File struct {
	Name   string
	Text   []byte
	Before int
	Called bool
	// JSON is the text of a file in Terraform's JSON syntax, with lines that follow Before; nil for one of HCL.
	JSON *yaml.Node
}

// Broken is the error of a text that is not HCL, or whose templates are not.
type Broken struct {
	Line, Column int
	Message      string
}

// Error says what is wrong, without the place.
func (b *Broken) Error() string { return b.Message }

// module is what the files of one directory state together.
type module struct {
	// variables have a nil expression where there is no default; given are the values of *.tfvars.
	variables, given, locals, outputs map[string]hclsyntax.Expression
	// types are those that variables state.
	types     map[string]hclsyntax.Expression
	resources []*resource
	calls     []*hclsyntax.Block
	// roots has, by the first word of every reference, the second words; attributes are all names behind a dot
	// anywhere.
	roots      map[string]map[string]bool
	attributes map[string]bool
}

// resource is one block of the types resource and data.
type resource struct {
	kind, name string
	data       bool
	block      *hclsyntax.Block
}

// address is how Terraform refers to it.
func (r *resource) address() string {
	if r.data {
		return "data." + r.kind + "." + r.name
	}
	return r.kind + "." + r.name
}

// maxBlocks bounds the blocks of a module.
const maxBlocks = 5000

// collect reads the blocks of all files.
func collect(files []File) (*module, error) {
	m := &module{
		variables:  map[string]hclsyntax.Expression{},
		given:      map[string]hclsyntax.Expression{},
		locals:     map[string]hclsyntax.Expression{},
		outputs:    map[string]hclsyntax.Expression{},
		types:      map[string]hclsyntax.Expression{},
		roots:      map[string]map[string]bool{},
		attributes: map[string]bool{},
	}
	for _, f := range files {
		body, err := bodyOf(f)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(strings.TrimSuffix(f.Name, ".json"), ".tfvars") {
			for name, a := range body.Attributes {
				m.given[name] = a.Expr
			}
			continue
		}
		for _, b := range body.Blocks {
			m.add(b)
		}
		m.references(body)
		if len(m.resources) > maxBlocks {
			return nil, fmt.Errorf("%s: found more than %d resources, allowed are at most that", f.Name, maxBlocks)
		}
	}
	return m, nil
}

// bodyOf is what a file states, in either syntax.
func bodyOf(f File) (*hclsyntax.Body, error) {
	if f.JSON != nil {
		return fromJSON(f)
	}
	parsed, diagnostics := hclsyntax.ParseConfig(f.Text, f.Name, hcl.Pos{Line: f.Before + 1, Column: 1})
	if diagnostics.HasErrors() {
		return nil, broken(diagnostics, f)
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok {
		return &hclsyntax.Body{}, nil
	}
	return body, nil
}

func broken(all hcl.Diagnostics, f File) error {
	first := all.Errs()[0]
	b := &Broken{Line: f.Before + 1, Column: 1, Message: first.Error()}
	for _, d := range all {
		if d.Severity == hcl.DiagError {
			b.Message = strings.TrimSuffix(d.Summary, ".") + ": " + d.Detail
			if d.Subject != nil {
				b.Line, b.Column = d.Subject.Start.Line, d.Subject.Start.Column
			}
			break
		}
	}
	return b
}

// add takes in one block of a file.
func (m *module) add(b *hclsyntax.Block) {
	switch {
	case b.Type == "variable" && len(b.Labels) == 1:
		m.variables[b.Labels[0]] = nil
		if a := b.Body.Attributes["default"]; a != nil {
			m.variables[b.Labels[0]] = a.Expr
		}
		if a := b.Body.Attributes["type"]; a != nil {
			m.types[b.Labels[0]] = a.Expr
		}
	case b.Type == "locals":
		for name, a := range b.Body.Attributes {
			m.locals[name] = a.Expr
		}
	case b.Type == "output" && len(b.Labels) == 1 && b.Body.Attributes["value"] != nil:
		m.outputs[b.Labels[0]] = b.Body.Attributes["value"].Expr
	case (b.Type == "resource" || b.Type == "data") && len(b.Labels) == 2:
		m.resources = append(m.resources, &resource{b.Labels[0], b.Labels[1], b.Type == "data", b})
	case b.Type == "module" && len(b.Labels) == 1:
		m.calls = append(m.calls, b)
	}
}

// references notes what the expressions of a body refer to.
func (m *module) references(body *hclsyntax.Body) {
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		switch x := n.(type) {
		case *hclsyntax.ScopeTraversalExpr:
			m.traversal(x.Traversal)
		case *hclsyntax.RelativeTraversalExpr:
			m.names(x.Traversal)
		}
		return nil
	})
}

func (m *module) traversal(t hcl.Traversal) {
	m.names(t)
	root := t.RootName()
	at := 1
	if root == "data" && len(t) > 1 {
		if kind, ok := t[1].(hcl.TraverseAttr); ok {
			root, at = "data."+kind.Name, 2
		}
	}
	if len(t) <= at {
		return
	}
	if name, ok := t[at].(hcl.TraverseAttr); ok {
		if m.roots[root] == nil {
			m.roots[root] = map[string]bool{}
		}
		m.roots[root][name.Name] = true
	}
}

func (m *module) names(t hcl.Traversal) {
	for _, step := range t {
		if a, ok := step.(hcl.TraverseAttr); ok {
			m.attributes[a.Name] = true
		}
	}
}

// Read evaluates the files of modules, *.tf and *.tfvars, each directory by itself and within those that call it. Its
// error is a [*Broken] where it has a place.
func Read(files []File) (Template, error) {
	directories, roots, err := byDirectory(files)
	if err != nil {
		return Template{}, err
	}
	t := renamer{words: map[string]string{}}
	resources := nodes.Mapping(nil)
	var notes nodes.Notes
	for i, directory := range roots {
		e := newEvaluation(directories[directory], directory, directories)
		if len(roots) > 1 && i > 0 {
			e.prefix = directory + ":" // addresses are unique within one module
		}
		e.settle()
		notes = append(notes, e.templateOf(&t, resources)...)
	}
	root := nodes.Mapping(nil)
	nodes.Set(root, "Resources", resources)
	slices.SortStableFunc(notes, func(a, b nodes.Note) int { return a.At.Line - b.At.Line })
	return Template{Root: root, Words: t.words, Notes: notes}, nil
}

// byDirectory collects the modules, and which of them are read for themselves.
func byDirectory(files []File) (modules map[string]*module, roots []string, err error) {
	of := map[string][]File{}
	for _, f := range files {
		directory := path.Dir(filepath.ToSlash(f.Name))
		of[directory] = append(of[directory], f)
		if !f.Called && !slices.Contains(roots, directory) {
			roots = append(roots, directory)
		}
	}
	modules = map[string]*module{}
	for _, directory := range slices.Sorted(maps.Keys(of)) {
		if modules[directory], err = collect(of[directory]); err != nil {
			return nil, nil, err
		}
	}
	return modules, roots, nil
}
