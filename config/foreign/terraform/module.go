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

// This file collects the blocks of a module, and is the entrance of the package.

// Template is Terraform's configuration in the form of a template.
type Template struct {
	// Root is a mapping with the key Resources, as in a CloudFormation template. The logical id of a resource is its
	// address in Terraform.
	Root *yaml.Node
	// Words has Terraform's word for each property that CloudFormation calls otherwise.
	Words map[string]string
	// Notes say what was not read.
	Notes nodes.Notes
}

// File is one file of a module; the files of a directory are one module. Its first line follows the line Before of
// the whole reading. Called is true for files that count only where another module calls theirs.
type File struct {
	// Name is the path of the file. Its directory says which module it belongs to.
	Name   string
	Text   []byte
	Before int
	Called bool
	// JSON is the document of a file in the JSON syntax, with lines that follow Before; nil for HCL.
	JSON *yaml.Node
}

// Broken is the error of a text that is not valid HCL, with its place in the whole reading.
type Broken struct {
	// Line counts through all files of the reading.
	Line, Column int
	Message      string
}

// Error returns what is wrong, without the place.
func (b *Broken) Error() string { return b.Message }

// module is what the files of one directory state together.
type module struct {
	// variables has a nil expression for a variable without a default. given has the values of *.tfvars.
	variables, given, locals, outputs map[string]hclsyntax.Expression
	// types are the types that variables state.
	types map[string]hclsyntax.Expression
	// resources and calls are in the order of the text.
	resources []*resource
	calls     []*hclsyntax.Block
	// roots has the second words of all references by their first word. attributes are all names behind a dot
	// anywhere. Evaluation offers exactly these names; see root.
	roots      map[string]map[string]bool
	attributes map[string]bool
}

// resource is one block of the types resource and data.
type resource struct {
	kind, name string
	data       bool
	block      *hclsyntax.Block
}

// address returns the resource's address within its module.
func (r *resource) address() string {
	if r.data {
		return "data." + r.kind + "." + r.name
	}
	return r.kind + "." + r.name
}

// maxBlocks bounds the resources of a module.
const maxBlocks = 5000

// collect reads the blocks of all files of a directory.
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
		// A .tfvars file has values of variables and no blocks.
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
		// The bound is per directory; the evaluation of called modules has a bound of its own.
		if len(m.resources) > maxBlocks {
			return nil, fmt.Errorf("%s: found more than %d resources, allowed are at most that", f.Name, maxBlocks)
		}
	}
	return m, nil
}

// bodyOf returns what a file states, in either syntax.
func bodyOf(f File) (*hclsyntax.Body, error) {
	if f.JSON != nil {
		return fromJSON(f)
	}
	parsed, diagnostics := hclsyntax.ParseConfig(f.Text, f.Name, hcl.Pos{Line: f.Before + 1, Column: 1})
	if diagnostics.HasErrors() {
		return nil, broken(diagnostics, f)
	}
	// The native syntax always has this type of body.
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok {
		return &hclsyntax.Body{}, nil
	}
	return body, nil
}

// broken returns the first error of a text as a Broken.
func broken(all hcl.Diagnostics, f File) error {
	first := all.Errs()[0]
	// Without a place in the diagnostics the fault is at the beginning of the file.
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

// add adds one block of a file. Blocks of other types, such as provider, say nothing about scaling.
func (m *module) add(b *hclsyntax.Block) {
	switch {
	case b.Type == "variable" && len(b.Labels) == 1:
		// A variable without a default is declared all the same.
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

// references records what the expressions of a body refer to.
func (m *module) references(body *hclsyntax.Body) {
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		switch x := n.(type) {
		case *hclsyntax.ScopeTraversalExpr:
			m.traversal(x.Traversal)
		// What follows a function call or an index has attributes, and no root.
		case *hclsyntax.RelativeTraversalExpr:
			m.names(x.Traversal)
		}
		return nil
	})
}

// traversal records one reference by its first words.
func (m *module) traversal(t hcl.Traversal) {
	m.names(t)
	root := t.RootName()
	at := 1
	if root == "data" && len(t) > 1 {
		// References to data sources have one word more.
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

// names records the attributes of a reference.
func (m *module) names(t hcl.Traversal) {
	for _, step := range t {
		if a, ok := step.(hcl.TraverseAttr); ok {
			m.attributes[a.Name] = true
		}
	}
}

// Read evaluates the files of modules, each directory by itself and within the modules that call it. An error with a
// place is a [*Broken].
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
		// Addresses are unique within one module only.
		if len(roots) > 1 && i > 0 {
			e.prefix = directory + ":"
		}
		e.settle()
		notes = append(notes, e.templateOf(&t, resources)...)
	}
	root := nodes.Mapping(nil)
	nodes.Set(root, "Resources", resources)
	// Notes of called modules come into the order of the text.
	slices.SortStableFunc(notes, func(a, b nodes.Note) int { return a.At.Line - b.At.Line })
	return Template{Root: root, Words: t.words, Notes: notes}, nil
}

// byDirectory returns the modules by directory, and the directories that are read for themselves, in the order of the
// files.
func byDirectory(files []File) (modules map[string]*module, roots []string, err error) {
	// Files are grouped by their directory, with slashes on every system, because sources of calls have slashes.
	of := map[string][]File{}
	for _, f := range files {
		directory := path.Dir(filepath.ToSlash(f.Name))
		of[directory] = append(of[directory], f)
		// A directory is read for itself if at least one of its files was given by the user.
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
