package foreign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/config/foreign/terraform"
	"github.com/muster-scale/muster/internal/render"
)

// MaxBytes bounds the text of all files together. CloudFormation takes a template of 1 MiB at most; states of Terraform
// are larger.
const MaxBytes = 8 << 20

const (
	maxDepth     = 64
	maxDocuments = 200
	maxNodes     = 400_000
	maxNotes     = 500
)

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
	Fleets []Fleet
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
		f.Notes = r.faults(f.said)
		result.Notes = append(result.Notes, f.Notes...)
		result.Fleets = append(result.Fleets, f.Fleet)
	}
	distinct(result.Fleets)
	result.Notes = append(result.Notes, r.faults(r.said)...)
	sortNotes(result.Notes)
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

// sortNotes puts notes into the order of the text.
func sortNotes(notes []config.Fault) {
	slices.SortStableFunc(notes, func(a, b config.Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// nothing is the error of a text without anything to carry over.
func (r *reader) nothing() error {
	text := r.name + ": found nothing that scales; expected scaling policies or scheduled actions of Auto " +
		"Scaling groups or ECS services in a CloudFormation or SAM template, " +
		"in Terraform (*.tf, or what terraform show -json prints), or in what aws autoscaling describe-policies " +
		"or aws application-autoscaling describe-scaling-policies prints; " +
		"a ScaledObject or ScaledJob of KEDA; or a HorizontalPodAutoscaler"
	if all := r.faults(r.said); len(all) > 0 {
		text += "; " + all[0].String()
	}
	return errors.New(text)
}

// reader reads some texts.
type reader struct {
	name, argument string

	files  nodes.Files
	fleets []*draft
	said   []remark
	// words has what the author calls the properties that are called otherwise in templates.
	words map[string]string
	// objects are those of Kubernetes, outputs those of the AWS CLI.
	objects, outputs []*yaml.Node
	// nodes counts what has been walked, resolved what has been resolved.
	nodes, resolved int
}

// remark is something said of a place.
type remark struct {
	at   *yaml.Node
	text string
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
	r.cli()
	r.kubernetes()
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
		newTemplate(r, d).read()
	default:
		r.outputs = append(r.outputs, d)
	}
}

// terraform takes in what was read of Terraform, whose words notes then use.
func (r *reader) terraform(t terraform.Template) {
	from, first := len(r.fleets), len(r.said)
	for _, n := range t.Notes {
		r.note(n.At, "%s", n.Text)
	}
	of := newTemplate(r, t.Root)
	of.what, of.terraform = "the configuration", true
	of.read()
	for _, f := range r.fleets[from:] {
		for i := range f.said {
			f.said[i].text = reword(f.said[i].text, t.Words)
		}
		for i := range f.Remarks {
			f.Remarks[i] = reword(f.Remarks[i], t.Words)
		}
	}
	for i := range r.said[first:] {
		r.said[first+i].text = reword(r.said[first+i].text, t.Words)
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
	limits := loaderlimits.New(loaderlimits.DepthValue(maxDepth))
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
	if r.nodes++; r.nodes > maxNodes {
		return fmt.Errorf("%s: found more than %d values, allowed are at most that", r.name, maxNodes)
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

// note adds a note at a node that is about no fleet.
func (r *reader) note(n *yaml.Node, format string, args ...any) {
	r.said = noted(r.said, n, fmt.Sprintf(format, args...))
}

// noted adds a remark, once and as long as there is room.
func noted(all []remark, n *yaml.Node, text string) []remark {
	again := slices.ContainsFunc(all, func(x remark) bool {
		return x.text == text &&
			(x.at == n || x.at != nil && n != nil && x.at.Line == n.Line && x.at.Column == n.Column)
	})
	if again || len(all) >= maxNotes {
		return all
	}
	return append(all, remark{n, text})
}

// faults gives remarks their places, in the order of the text.
func (r *reader) faults(all []remark) (faults []config.Fault) {
	for _, x := range all {
		line, column := 1, 1
		if x.at != nil {
			line, column = x.at.Line, x.at.Column
		}
		faults = append(faults, r.files.Fault(line, column, x.text, ""))
	}
	sortNotes(faults)
	return faults
}

// number reads a finite number.
func number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return v, err == nil && v-v == 0
}

// truth reads a boolean, however it is written.
func truth(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "true") }

// brief cuts what a user wrote for a message.
func brief(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "..."
	}
	return strconv.Quote(text)
}
