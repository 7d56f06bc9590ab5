package foreign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/foreign/aws"
	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/kubernetes"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/config/foreign/template"
	"github.com/muster-scale/muster/config/foreign/terraform"
	"github.com/muster-scale/muster/internal/render"
)

// This file recognizes the format of each text and brings it to the package that reads it. Lines count through all
// files, so that a node alone says which file it comes from.

// MaxBytes bounds the text of all files together. CloudFormation accepts a template of up to 1 MiB; states of
// Terraform are larger.
const MaxBytes = 8 << 20

// maxDocuments bounds the YAML documents of one file.
const maxDocuments = 200

// File is a text to read. Its name appears in messages; the endings .tf and .tfvars mean HCL.
type File struct {
	Name string
	Text []byte
	// Called is true for a file of Terraform that counts only where a module calls the module in its directory.
	Called bool
}

// Result is what Read found.
type Result struct {
	// Fleets are in the order of the text; there is at least one.
	Fleets []draft.Fleet
	// Notes say what could not be carried over or means something else here, each with its place, in the order of the
	// text.
	Notes []config.Fault

	// name is what the result was read from, in words; argument is how a command names it.
	name, argument string
}

// Read reads templates, objects, outputs or the files of one Terraform module, which may refer to each other. An
// error says what is wrong with a text as a whole; where it has a place it is a [config.Fault] or [config.Faults].
func Read(files ...File) (Result, error) {
	r := &reader{}
	r.name, r.argument = nameOfAll(files)
	if err := r.readAll(files); err != nil {
		return Result{}, err
	}
	if len(r.fleets) == 0 {
		return Result{}, r.nothing()
	}
	result := Result{name: r.name, argument: r.argument}
	for _, f := range r.fleets {
		f.Notes = r.files.Faults(f.Said)
		result.Notes = append(result.Notes, f.Notes...)
		result.Fleets = append(result.Fleets, f.Fleet)
	}
	// Fleets get their final names once all of them are known.
	distinct(result.Fleets)
	result.Notes = append(result.Notes, r.files.Faults(r.notes)...)
	nodes.SortFaults(result.Notes)
	return result, nil
}

// nameOfAll returns what a result calls its files, in words and as the argument of a command.
func nameOfAll(files []File) (name, argument string) {
	files = slices.DeleteFunc(slices.Clone(files), func(f File) bool { return f.Called })
	if len(files) == 0 {
		return "nothing", "FILE"
	}
	first := files[0].Name
	directory := filepath.Dir(first)
	together := !slices.ContainsFunc(files, func(f File) bool {
		return filepath.Dir(f.Name) != directory || !strings.Contains(filepath.Ext(f.Name), ".tf")
	})
	switch {
	case len(files) == 1 && first == standardInput:
		return first, "FILE"
	case len(files) == 1:
		return first, first
	// All files of a module are named by their directory, as a user would.
	case together && directory != ".":
		return directory, directory
	}
	return fmt.Sprintf("%s and %s", first, render.Plural(len(files)-1, "more file")), "FILE..."
}

// nothing returns the error of texts without anything to carry over: what was expected, and the first note.
func (r *reader) nothing() error {
	text := r.name + ": found nothing that scales; expected scaling policies or scheduled actions of Auto " +
		"Scaling groups or ECS services in a CloudFormation or SAM template, " +
		"in Terraform (*.tf, or what terraform show -json prints), or in what aws autoscaling describe-policies " +
		"or aws application-autoscaling describe-scaling-policies prints; " +
		"a ScaledObject or ScaledJob of KEDA; or a HorizontalPodAutoscaler"
	if all := r.files.Faults(r.notes); len(all) > 0 {
		text += "; " + all[0].String()
	}
	return errors.New(text)
}

// reader holds the state of one reading.
type reader struct {
	name, argument string

	files  nodes.Files
	fleets []*draft.Draft
	notes  nodes.Notes
	// objects are documents of Kubernetes, outputs those of the AWS CLI. Both are read at the end, because they refer
	// to each other across files.
	objects, outputs []*yaml.Node
	work             nodes.Work
}

// readAll reads the files: each template by itself, and Terraform, outputs and objects together with their like.
func (r *reader) readAll(files []File) error {
	size := 0
	var modules []terraform.File
	for _, f := range files {
		// The bound is on all files, because modules and directories have many.
		if size += len(f.Text); size > MaxBytes {
			return fmt.Errorf("%s: found more than %d bytes, allowed are at most that", f.Name, MaxBytes)
		}
		before := r.files.Add(f.Name, f.Text)
		if isHCL(f) {
			modules = append(modules, terraform.File{Name: f.Name, Text: f.Text, Before: before, Called: f.Called})
			continue
		}
		documents, err := r.parse(f, before)
		if err != nil {
			return err
		}
		for _, d := range documents {
			if isTerraform(f, d) {
				modules = append(modules, terraform.File{Name: f.Name, Before: before, Called: f.Called, JSON: d})
				continue
			}
			// Everything else is recognized by its members.
			r.document(d)
		}
	}
	if len(modules) > 0 {
		t, err := terraform.Read(modules)
		if broken, ok := errors.AsType[*terraform.Broken](err); ok {
			return config.Faults{
				r.files.Fault(broken.Line, broken.Column, "found text that is not HCL: "+broken.Message, ""),
			}
		} else if err != nil {
			return err
		}
		r.terraform(t)
	}
	// Outputs refer to each other by name, so all of them are one template.
	if root := aws.Outputs(r.outputs); root != nil {
		t := template.New(root, &r.notes, &r.work)
		t.What = "what was given"
		r.template(t)
	}
	r.fleets = append(r.fleets, kubernetes.Read(r.objects, &r.notes)...)
	return nil
}

// isHCL tells whether a text is HCL, by its name or, for standard input, by how it begins.
func isHCL(f File) bool {
	if strings.HasSuffix(f.Name, ".tf") || strings.HasSuffix(f.Name, ".tfvars") {
		return true
	}
	return strings.HasPrefix(f.Name, standardInput) && hclBlock.Match(f.Text)
}

// isTerraform tells whether a document has Terraform's JSON syntax, by the name of its file or because it states
// "resource" as a mapping.
func isTerraform(f File, d *yaml.Node) bool {
	if strings.HasSuffix(f.Name, ".tf.json") || strings.HasSuffix(f.Name, ".tfvars.json") {
		return true
	}
	resources := nodes.Get(d, "resource")
	return resources != nil && resources.Kind == yaml.MappingNode && nodes.Get(d, "Resources") == nil
}

// standardInput is the name of a text that does not come from a file.
const standardInput = "standard input"

// hclBlock matches the beginning of a block of Terraform.
var hclBlock = regexp.MustCompile(`(?m)^(resource|data)\s+"[a-z0-9_]+"\s+"[^"]+"\s*\{`)

// document reads one document. A YAML file may have several.
func (r *reader) document(d *yaml.Node) {
	if d.Kind != yaml.MappingNode {
		if d.Kind == yaml.SequenceNode {
			r.outputs = append(r.outputs, d.Content...) // some tools print lists of what the AWS CLI prints
		}
		return
	}
	if t, ok := terraform.Shown(d); ok {
		r.terraform(t)
		return
	}
	switch {
	// The formats are told by a member that each of them requires.
	case nodes.Get(d, "apiVersion") != nil:
		r.objects = append(r.objects, d)
	case nodes.Get(d, "Resources") != nil:
		t := template.New(d, &r.notes, &r.work)
		t.Unroll()
		r.template(t)
	default:
		r.outputs = append(r.outputs, d)
	}
}

// terraform reads what Terraform was brought to, and puts its own words for properties into the notes.
func (r *reader) terraform(t terraform.Template) {
	// Only what this reading adds is reworded.
	from, first := len(r.fleets), len(r.notes)
	for _, n := range t.Notes {
		r.notes.Add(n.At, "%s", n.Text)
	}
	of := template.New(t.Root, &r.notes, &r.work)
	of.What, of.Terraform = "the configuration", true
	r.template(of)
	for _, f := range r.fleets[from:] {
		rewordNotes(f.Said, t.Words)
		for i := range f.Remarks {
			f.Remarks[i] = reword(f.Remarks[i], t.Words)
		}
	}
	rewordNotes(r.notes[first:], t.Words)
}

// template reads the fleets of a template.
func (r *reader) template(t *template.Template) { r.fleets = append(r.fleets, aws.Read(t)...) }

// rewordNotes replaces the words for properties in notes.
func rewordNotes(notes nodes.Notes, words map[string]string) {
	for i := range notes {
		notes[i].Text = reword(notes[i].Text, words)
	}
}

// property matches the words that name a property of a template.
var property = regexp.MustCompile(`\b[A-Z][a-z]+([A-Z]+[a-z]*)+\b`)

// reword replaces names of CloudFormation properties in a text by the author's words for them.
func reword(text string, words map[string]string) string {
	return property.ReplaceAllStringFunc(text, func(word string) string { return cmp.Or(words[word], word) })
}

// parse reads the documents of a text, without aliases. Their lines follow the lines of the files before.
func (r *reader) parse(f File, before int) ([]*yaml.Node, error) {
	text := f.Text
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		text = bytes.ReplaceAll(text, []byte("\t"), []byte(" ")) // JSON may be indented with tabs, YAML may not
	}
	var documents []yaml.Node
	// The depth is limited while parsing: a deeply nested text would exhaust the stack before walk sees it.
	limits := loaderlimits.New(loaderlimits.DepthValue(nodes.MaxDepth))
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments(), yaml.WithPlugin(limits)); err != nil {
		return nil, r.broken(f, before, err)
	}
	// The bound on values counts later, in walk.
	if len(documents) > maxDocuments {
		return nil, fmt.Errorf("%s: found %d documents, allowed are at most %d", f.Name, len(documents), maxDocuments)
	}
	var roots []*yaml.Node
	for i := range documents {
		for _, n := range documents[i].Content {
			if bad := r.walk(n, before); bad != nil {
				return nil, bad
			}
			roots = append(roots, n)
		}
	}
	return roots, nil
}

// broken returns the error of a text that is neither YAML nor JSON, with its place.
func (r *reader) broken(f File, before int, err error) error {
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return fmt.Errorf("%s: found text that is neither YAML nor JSON: %w", f.Name, err)
	}
	// Some errors have only the place where their context began.
	mark := load.Mark
	if mark.Line == 0 {
		mark = load.ContextMark
	}
	hint := ""
	// Braces of a template engine are the usual reason why YAML does not parse.
	if bytes.Contains(f.Text, []byte("{{")) {
		hint = "it looks like a chart; render it first, as with helm template"
	}
	return config.Faults{
		r.files.Fault(
			before+mark.Line, mark.Column,
			"found text that is neither YAML nor JSON: "+strings.TrimPrefix(load.Message, "yaml: "), hint,
		),
	}
}

// walk counts the values of a tree, refuses aliases, and moves the lines behind those of the files before.
func (r *reader) walk(n *yaml.Node, before int) error {
	n.Line += before
	if !r.work.Value() {
		return fmt.Errorf("%s: found more than %d values, allowed are at most that", r.name, nodes.MaxValues)
	}
	if n.Kind == yaml.AliasNode {
		return config.Faults{
			r.files.Fault(
				n.Line, n.Column, fmt.Sprintf("found the alias *%s, allowed are plain values", n.Value),
				"write the value itself",
			),
		}
	}
	for _, c := range n.Content {
		if err := r.walk(c, before); err != nil {
			return err
		}
	}
	return nil
}
