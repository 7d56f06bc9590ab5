package terraform

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// This file evaluates expressions with what is stated.

// doubt marks a value that depends on something unstated. text stands in for it within a value, name where a name is
// needed. For an attribute of a resource, address and attribute say which.
type doubt struct{ text, name, why, address, attribute string }

// missing returns a value that is not stated, with the reference itself as its text.
func missing(reference, why string) cty.Value {
	words := strings.Split(reference, ".")
	name := words[len(words)-1]
	// An output alone, "name" for instance, says little; with its module it makes a usable name.
	if words[0] == "module" && len(words) == 3 {
		name = words[1] + "-" + name
	}
	return cty.StringVal("${" + reference + "}").Mark(doubt{text: "${" + reference + "}", name: name, why: why})
}

// evaluation evaluates a module in rounds: what one round finds out, the next one uses.
type evaluation struct {
	*module
	// functions and locals are what expressions can use besides references to resources.
	functions map[string]function.Function
	locals    map[string]cty.Value
	// instances are those of the last round, in the order of the text.
	instances []placedInstance
	// directory is that of the module, and directories has all modules that there are. prefix precedes its addresses.
	directory, prefix string
	directories       map[string]*module
	// arguments are the values that a call gives to variables, and children the modules that are called. left counts
	// the evaluations that remain for the whole reading.
	arguments map[string]cty.Value
	children  map[string]*evaluation
	left      *int
	// objects are the resources and called modules as expressions see them, by first word and name of the reference.
	objects map[string]map[string]cty.Value
	notes   nodes.Notes
	// noted has the notes of this round by line and text.
	noted map[string]bool
}

const (
	maxRounds    = 8   // of one module; a chain of references longer than that stays unknown
	maxInstances = 200 // of one resource or call
	// maxEvaluations bounds how often modules are evaluated in one reading. maxCalls is how deep modules may call
	// each other.
	maxEvaluations = 1000
	maxCalls       = 8
	// maxExpression bounds the length of an expression in bytes. maxLoops is how deep its loops may be nested.
	maxExpression = 16 << 10
	maxLoops      = 2
)

// newEvaluation returns the evaluation of a module in a directory, with all modules that it may call.
func newEvaluation(m *module, directory string, all map[string]*module) *evaluation {
	// Called modules share this counter with their caller: see called.
	left := maxEvaluations
	return &evaluation{
		module:      m,
		functions:   functions(),
		locals:      map[string]cty.Value{},
		objects:     map[string]map[string]cty.Value{},
		noted:       map[string]bool{},
		directory:   directory,
		directories: all,
		children:    map[string]*evaluation{},
		left:        &left,
	}
}

// settle evaluates locals, resources and calls in rounds until a round changes nothing, or the bounds are reached.
func (e *evaluation) settle() {
	var before map[string]cty.Value
	for range maxRounds {
		// What has been found out until then stays, and the rest is not known.
		if *e.left--; *e.left < 0 {
			return
		}
		// Locals see the results of the round before, instances and calls those of this one.
		context := e.root()
		for name, x := range e.module.locals {
			e.locals[name] = e.value(x, context)
		}
		e.instantiate(e.root())
		e.called(e.root())
		now := e.found()
		if maps.EqualFunc(now, before, cty.Value.RawEquals) { // marks and unknown values included
			return
		}
		before = now
	}
}

// found returns everything that was found out, by name.
func (e *evaluation) found() map[string]cty.Value {
	all := map[string]cty.Value{}
	for name, v := range e.locals {
		all["local."+name] = v
	}
	for _, i := range e.instances {
		if v, known := e.objects[i.key()][i.name]; known {
			all[i.address] = v
		}
	}
	for name, v := range e.objects["module"] {
		all["module."+name] = v
	}
	return all
}

// key returns the first word of references to the resource.
func (r *resource) key() string {
	if r.data {
		return "data." + r.kind
	}
	return r.kind
}

// root returns what expressions can refer to. Every name that any expression uses is there: the evaluator fails on
// unknown names, and a value that is not known says more than a failure.
func (e *evaluation) root() *hcl.EvalContext {
	variables := map[string]cty.Value{}
	all := map[string]cty.Value{}
	for name, x := range e.variables {
		// The order of precedence: the argument of a call, a .tfvars file, the default.
		if v, ok := e.arguments[name]; ok {
			all[name] = e.typed(name, v)
			continue
		}
		// Values of .tfvars replace defaults.
		if given := e.given[name]; given != nil {
			x = given
		}
		if x == nil {
			all[name] = missing("var."+name, "the variable "+name+" has no default")
			continue
		}
		all[name] = e.typed(name, e.value(x, nil))
	}
	for name := range e.roots["var"] {
		if _, ok := all[name]; !ok {
			all[name] = missing("var."+name, "the variable "+name+" is not declared here")
		}
	}
	variables["var"] = object(all)
	// Locals that this module does not declare are offered as unknown, as above.
	all = maps.Clone(e.locals)
	for name := range e.roots["local"] {
		if _, ok := all[name]; !ok {
			all[name] = missing("local."+name, "the local value "+name+" is not stated here")
		}
	}
	variables["local"] = object(all)
	data := map[string]cty.Value{}
	for root, names := range e.roots {
		if builtIn(root) {
			continue
		}
		objects := map[string]cty.Value{}
		for name := range names {
			objects[name] = e.object(root, name)
		}
		// Data sources are one level deeper than resources: data.TYPE.NAME.
		if kind, is := strings.CutPrefix(root, "data."); is {
			data[kind] = object(objects)
		} else {
			variables[root] = object(objects)
		}
	}
	variables["data"] = object(data)
	// Paths of modules are names of files, which no property of a scaling policy depends on.
	variables["path"] = object(
		map[string]cty.Value{"module": cty.StringVal("."), "root": cty.StringVal("."), "cwd": cty.StringVal(".")},
	)
	variables["terraform"] = object(
		map[string]cty.Value{"workspace": missing("terraform.workspace", "the workspace is known to Terraform alone")},
	)
	return &hcl.EvalContext{Variables: variables, Functions: e.functions}
}

// builtIn tells whether the first word of a reference is Terraform's own and not a type of resource.
func builtIn(root string) bool {
	return slices.Contains([]string{"var", "local", "path", "terraform", "each", "count", "self"}, root)
}

// object returns an object of values; it may be empty.
func object(of map[string]cty.Value) cty.Value { return cty.ObjectVal(of) }

// object returns what expressions see of a resource, a data source or a module. One that is not read has every
// attribute that anyone asks for, none of them known.
func (e *evaluation) object(root, name string) cty.Value {
	if v, ok := e.objects[root][name]; ok {
		return v
	}
	all := map[string]cty.Value{}
	// Only attributes that some expression names are offered: a provider has hundreds.
	for attribute := range e.attributes {
		reference := root + "." + name + "." + attribute
		all[attribute] = missing(reference, reference+" is known to Terraform alone")
	}
	return object(all)
}

// because returns the reason why a value is not known, in brackets, as the end of a note.
func because(marks cty.ValueMarks) string {
	if d := doubtsOf(marks); len(d) > 0 {
		return " (" + d[0].why + ")"
	}
	return ""
}

// known tells whether a value and all of its parts are known, and it is not null.
func known(v cty.Value) bool { return !v.IsNull() && v.IsWhollyKnown() }

// whole returns a number as a count, and whether it is one: whole, not negative, below a million.
func whole(v cty.Value) (int, bool) {
	if v.Type() != cty.Number || !known(v) {
		return 0, false
	}
	f, _ := v.AsBigFloat().Float64()
	return int(f), f >= 0 && f < 1e6 && f == float64(int(f))
}

// value evaluates an expression. An expression that fails or is too large is a value that is not known, with the
// reason.
func (e *evaluation) value(x hclsyntax.Expression, context *hcl.EvalContext) cty.Value {
	// Large or deeply nested expressions are refused before they run.
	r := x.Range()
	if r.End.Byte-r.Start.Byte > maxExpression || loops(x) > maxLoops {
		return cty.DynamicVal.Mark(doubt{why: "the expression is too large to be computed here"})
	}
	// The evaluator would fail on the first unknown part of a text.
	if t, ok := x.(*hclsyntax.TemplateExpr); ok && context != nil {
		return e.template(t, context)
	}
	v, diagnostics := x.Value(context)
	if diagnostics.HasErrors() {
		return cty.DynamicVal.Mark(doubt{why: e.why(x, context, diagnostics)})
	}
	if !fits(v) {
		return cty.DynamicVal.Mark(doubt{why: "the value is too large"})
	}
	return v
}

// why returns why an expression cannot be computed: the first reference in it that is not known, or the evaluator's
// own reason. Locals are skipped if they only pass the doubt of something else on.
func (e *evaluation) why(x hclsyntax.Expression, context *hcl.EvalContext, all hcl.Diagnostics) string {
	for _, t := range x.Variables() {
		// A reference into an object that is not known fails as a whole; its first two words still have a doubt.
		v, diagnostics := t.TraverseAbs(context)
		if diagnostics.HasErrors() && len(t) > 2 {
			v, diagnostics = t[:2].TraverseAbs(context)
		}
		if diagnostics.HasErrors() {
			continue
		}
		_, marks := v.UnmarkDeep()
		if d := doubtsOf(marks); len(d) > 0 && t.RootName() != "local" || len(d) > 0 && len(marks) == 1 {
			return d[0].why
		}
	}
	// Nothing in the expression is unknown, so a function is missing or the expression is wrong.
	return "it is computed by Terraform alone: " + reason(all)
}

// template evaluates the parts of a text one by one, so that a part that fails does not hide the others.
func (e *evaluation) template(t *hclsyntax.TemplateExpr, context *hcl.EvalContext) cty.Value {
	var b strings.Builder
	marks := cty.ValueMarks{}
	for _, part := range t.Parts {
		v := e.value(part, context)
		// A null in a text is an error in Terraform. Here it is usually a variable without a default.
		if bare, _ := v.Unmark(); bare.IsNull() {
			reference := strings.TrimPrefix(source(part), "var.")
			v = missing("var."+reference, "the variable "+reference+" is null unless it is given")
		}
		v, of := v.Unmark()
		maps.Copy(marks, of)
		text, ok := plain(v)
		if !ok {
			return cty.DynamicVal.WithMarks(marks)
		}
		if b.WriteString(text); b.Len() > maxText {
			return cty.DynamicVal.Mark(doubt{why: "the text is too long"})
		}
	}
	return cty.StringVal(b.String()).WithMarks(marks)
}

// source returns the reference that an expression is; "value" for any other expression.
func source(x hclsyntax.Expression) string {
	t, ok := x.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		return "value"
	}
	var words []string
	for _, step := range t.Traversal {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			words = append(words, s.Name)
		case hcl.TraverseAttr:
			words = append(words, s.Name)
		}
	}
	return strings.Join(words, ".")
}

// loops returns how deep the for expressions of an expression are nested. Nested loops multiply their work.
func loops(x hclsyntax.Expression) (deepest int) {
	w := &loopWalk{}
	_ = hclsyntax.Walk(x, w)
	return w.deepest
}

// loopWalk measures the nesting of loops.
type loopWalk struct{ depth, deepest int }

// Enter implements [hclsyntax.Walker].
func (w *loopWalk) Enter(n hclsyntax.Node) hcl.Diagnostics {
	if _, ok := n.(*hclsyntax.ForExpr); ok {
		w.depth++
		w.deepest = max(w.deepest, w.depth)
	}
	return nil
}

// Exit implements [hclsyntax.Walker].
func (w *loopWalk) Exit(n hclsyntax.Node) hcl.Diagnostics {
	if _, ok := n.(*hclsyntax.ForExpr); ok {
		w.depth--
	}
	return nil
}

// reason returns the first sentence of the first error.
func reason(all hcl.Diagnostics) string {
	for _, d := range all {
		if d.Severity == hcl.DiagError {
			text := strings.Join(strings.Fields(cmp.Or(d.Detail, d.Summary)), " ")
			first, _, _ := strings.Cut(text, ". ")
			return strings.TrimSuffix(first, ".")
		}
	}
	return "it has a fault"
}

// note adds a note at a place, once.
func (e *evaluation) note(r hcl.Range, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if key := fmt.Sprint(r.Start.Line, text); !e.noted[key] {
		e.noted[key] = true
		e.notes = append(e.notes, nodes.Note{At: place(r), Text: text})
	}
}
