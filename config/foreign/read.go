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

// MaxBytes bounds the text of all files together. CloudFormation takes a template of 1 MiB at most; states of Terraform
// are larger.
const MaxBytes = 8 << 20

const maxDocuments = 200

// File is a text to read. Its name stands in messages, and its ending, .tf or .tfvars, tells that it is HCL.
type File struct {
	Name string
	Text []byte
	// Called is true of a file of Terraform that counts only where a module calls the one in its directory.
	Called bool
}

// Result is what was found.
type Result struct {
	// Fleets are in the order of the text; there is at least one.
	Fleets []draft.Fleet
	// Notes tell what could not be carried over, or means something else, each with its place; in the order of the
	// text.
	Notes []config.Fault

	// name and argument are what it was read from: in words, and as a command names it.
	name, argument string
}

// Read reads templates, objects, outputs or the files of one module of Terraform, which may refer to each other. An
// error tells what is wrong with a text as a whole; where it has a place it is a [config.Fault].
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
	distinct(result.Fleets)
	result.Notes = append(result.Notes, r.files.Faults(r.notes)...)
	nodes.SortFaults(result.Notes)
	return result, nil
}

// nameOfAll is how a result calls what it was read from, and how a command names it.
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
	case together && directory != ".":
		return directory, directory
	}
	return fmt.Sprintf("%s and %s", first, render.Plural(len(files)-1, "more file")), "FILE..."
}

// nothing is the error of a text without anything to carry over.
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

// reader reads some texts.
type reader struct {
	name, argument string

	files  nodes.Files
	fleets []*draft.Draft
	notes  nodes.Notes
	// objects are those of Kubernetes, outputs those of the AWS CLI.
	objects, outputs []*yaml.Node
	work             nodes.Work
}

// readAll reads the files: each template by itself, the others together with their like.
func (r *reader) readAll(files []File) error {
	size := 0
	var modules []terraform.File
	for _, f := range files {
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
	if root := aws.Outputs(r.outputs); root != nil {
		t := template.New(root, &r.notes, &r.work)
		t.What = "what was given"
		r.template(t)
	}
	r.fleets = append(r.fleets, kubernetes.Read(r.objects, &r.notes)...)
	return nil
}

// isHCL tells whether a text is HCL, by its name or by how a file of Terraform begins.
func isHCL(f File) bool {
	if strings.HasSuffix(f.Name, ".tf") || strings.HasSuffix(f.Name, ".tfvars") {
		return true
	}
	return strings.HasPrefix(f.Name, standardInput) && hclBlock.Match(f.Text)
}

// isTerraform tells whether a document has Terraform's JSON syntax: by the name of its file, or because it states
// resources as that does.
func isTerraform(f File, d *yaml.Node) bool {
	if strings.HasSuffix(f.Name, ".tf.json") || strings.HasSuffix(f.Name, ".tfvars.json") {
		return true
	}
	resources := nodes.Get(d, "resource")
	return resources != nil && resources.Kind == yaml.MappingNode && nodes.Get(d, "Resources") == nil
}

// standardInput is what a text is called that no file holds.
const standardInput = "standard input"

// hclBlock matches the beginning of a block of Terraform.
var hclBlock = regexp.MustCompile(`(?m)^(resource|data)\s+"[a-z0-9_]+"\s+"[^"]+"\s*\{`)

// document takes in one document: of YAML there may be several in a file.
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

// terraform takes in what was read of Terraform, whose words notes then use.
func (r *reader) terraform(t terraform.Template) {
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

// template takes in the fleets of a template.
func (r *reader) template(t *template.Template) { r.fleets = append(r.fleets, aws.Read(t)...) }

func rewordNotes(notes nodes.Notes, words map[string]string) {
	for i := range notes {
		notes[i].Text = reword(notes[i].Text, words)
	}
}

// property matches the words that name a property of a template.
var property = regexp.MustCompile(`\b[A-Z][a-z]+([A-Z]+[a-z]*)+\b`)

// reword puts the author's words for properties into a text.
func reword(text string, words map[string]string) string {
	return property.ReplaceAllStringFunc(text, func(word string) string { return cmp.Or(words[word], word) })
}

// parse reads the documents of a text, without aliases. Their lines follow those before.
func (r *reader) parse(f File, before int) ([]*yaml.Node, error) {
	text := f.Text
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		text = bytes.ReplaceAll(text, []byte("\t"), []byte(" ")) // JSON may be indented with tabs, YAML may not
	}
	var documents []yaml.Node
	limits := loaderlimits.New(loaderlimits.DepthValue(nodes.MaxDepth))
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments(), yaml.WithPlugin(limits)); err != nil {
		return nil, r.broken(f, before, err)
	}
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

// broken is the error of a text that is not YAML.
func (r *reader) broken(f File, before int, err error) error {
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return fmt.Errorf("%s: found text that is neither YAML nor JSON: %w", f.Name, err)
	}
	mark := load.Mark
	if mark.Line == 0 {
		mark = load.ContextMark
	}
	hint := ""
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

// walk finds what must not be in the text, and moves the lines behind those before.
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
