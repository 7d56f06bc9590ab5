package foreign_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-scale/muster/config/foreign"
	"github.com/muster-scale/muster/fleet/asg"
)

// Terraform reads a configuration in two syntaxes, and each of them means the same: what is written of a module does
// not depend on which one it has.
func TestTheJSONSyntaxOfTerraformMeansTheSame(t *testing.T) {
	files, err := filepath.Glob("testdata/terraform-*.txtar")
	if err != nil || len(files) < 3 {
		t.Fatalf("found %d modules: %v", len(files), err)
	}
	place := regexp.MustCompile(`\.tf(vars)?(\.json)?(:\d+:\d+)?`)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			as := filesIn(t, file)
			want, err := foreign.Read(as...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range as {
				as[i] = inJSON(t, as[i])
			}
			got, err := foreign.Read(as...)
			if err != nil {
				t.Fatal(err)
			}
			// What is said of all stands in the order of the text, in which each syntax has an order of its own.
			bare := func(r foreign.Result) (fleets string, notes []string) {
				for _, n := range r.Notes {
					notes = append(notes, place.ReplaceAllString(n.String(), ""))
				}
				slices.Sort(notes)
				_, fleets, _ = strings.Cut(place.ReplaceAllString(string(r.YAML()), ""), "\nversion: 1\n")
				return strings.Join(strings.Fields(strings.ReplaceAll(fleets, "#", "")), " "), notes
			}
			wantFleets, wantNotes := bare(want)
			gotFleets, gotNotes := bare(got)
			if d := cmp.Diff(wantNotes, gotNotes); d != "" {
				t.Errorf("the notes differ (-HCL +JSON):\n%s", d)
			}
			if d := cmp.Diff(strings.SplitAfter(wantFleets, ". "), strings.SplitAfter(gotFleets, ". ")); d != "" {
				t.Errorf("HCL and JSON differ (-HCL +JSON):\n%s", d)
			}
		})
	}
}

// inJSON writes a file of HCL in the other syntax.
func inJSON(t testing.TB, f foreign.File) foreign.File {
	t.Helper()
	parsed, diagnostics := hclsyntax.ParseConfig(f.Text, f.Name, hcl.InitialPos)
	body, ok := parsed.Body.(*hclsyntax.Body)
	if diagnostics.HasErrors() || !ok {
		t.Fatal(diagnostics)
	}
	text, err := json.MarshalIndent(bodyInJSON(f.Text, body), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	f.Name, f.Text = f.Name+".json", text
	return f
}

func bodyInJSON(text []byte, body *hclsyntax.Body) map[string]any {
	all := map[string]any{}
	for name, a := range body.Attributes {
		if name == "type" || name == "iterator" {
			all[name] = string(a.Expr.Range().SliceBytes(text))
			continue
		}
		all[name] = valueInJSON(text, a.Expr)
	}
	for _, b := range body.Blocks {
		into, key := all, b.Type
		for _, label := range b.Labels {
			below, _ := into[key].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			into[key], into, key = below, below, label
		}
		of, _ := into[key].([]any)
		into[key] = append(of, bodyInJSON(text, b.Body))
	}
	return all
}

func valueInJSON(text []byte, x hclsyntax.Expression) any {
	source := string(x.Range().SliceBytes(text))
	switch x := x.(type) {
	case *hclsyntax.LiteralValueExpr:
		if x.Val.Type() == cty.Number || x.Val.Type() == cty.Bool {
			return json.RawMessage(source)
		}
	case *hclsyntax.TupleConsExpr:
		all := []any{}
		for _, e := range x.Exprs {
			all = append(all, valueInJSON(text, e))
		}
		return all
	case *hclsyntax.ObjectConsExpr:
		all := map[string]any{}
		for _, i := range x.Items {
			key := strings.Trim(string(i.KeyExpr.Range().SliceBytes(text)), `"`)
			all[key] = valueInJSON(text, i.ValueExpr)
		}
		return all
	case *hclsyntax.TemplateExpr:
		return strings.TrimSuffix(strings.TrimPrefix(source, `"`), `"`)
	}
	return "${" + source + "}"
}

// A text that is no template, or no JSON, is refused at its place. Standard input needs no name to be known.
func TestTheJSONSyntaxOfTerraformIsReadFromAnywhere(t *testing.T) {
	const group = `{
  "//": "made by a generator",
  "resource": {
    "aws_autoscaling_group": {"workers": {"name": "workers", "min_size": 0, "max_size": %s}},
    "aws_autoscaling_policy": {"cpu": {
      "name": "cpu", "autoscaling_group_name": "${aws_autoscaling_group.workers.name}",
      "policy_type": "TargetTrackingScaling",
      "target_tracking_configuration": {
        "target_value": 50,
        "predefined_metric_specification": {"predefined_metric_type": "ASGAverageCPUUtilization"}
      }
    }}
  }
}`
	for _, row := range []struct{ name, most, want string }{
		{"main.tf.json", "9", ""},
		{"standard input", "9", ""},
		{"main.tf.json", `"${9 +}"`, "main.tf.json:4:89: found text that is not HCL: "},
		{"main.tf.json", "9]", "main.tf.json:4:"},
	} {
		r, err := readText(row.name, []byte(strings.Replace(group, "%s", row.most, 1)))
		if row.want != "" {
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s with %s: found %v, want %s", row.name, row.most, err, row.want)
			}
			continue
		}
		if err != nil || len(r.Fleets) != 1 {
			t.Errorf("%s: found %d fleets: %v", row.name, len(r.Fleets), err)
			continue
		}
		if c, is := valid(t, r).Fleets[0].Members.(*asg.Config); !is || c.Group != "workers" {
			t.Errorf("%s: found the members %+v, want the group workers", row.name, c)
		}
	}
}
