package terraform

import (
	"errors"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// This file has the functions that expressions may call, and the bounds of values.

// functions returns Terraform's functions that compute from their arguments alone, each bounded in what it returns. A
// function that reads files, the clock or chance is missing, so a value that needs it is not known.
func functions() map[string]function.Function {
	all := map[string]function.Function{
		"abs":             stdlib.AbsoluteFunc,
		"ceil":            stdlib.CeilFunc,
		"chomp":           stdlib.ChompFunc,
		"chunklist":       stdlib.ChunklistFunc,
		"coalesce":        stdlib.CoalesceFunc,
		"coalescelist":    stdlib.CoalesceListFunc,
		"compact":         stdlib.CompactFunc,
		"concat":          stdlib.ConcatFunc,
		"contains":        stdlib.ContainsFunc,
		"distinct":        stdlib.DistinctFunc,
		"element":         stdlib.ElementFunc,
		"flatten":         stdlib.FlattenFunc,
		"floor":           stdlib.FloorFunc,
		"format":          stdlib.FormatFunc,
		"formatlist":      stdlib.FormatListFunc,
		"index":           stdlib.IndexFunc,
		"join":            stdlib.JoinFunc,
		"jsondecode":      stdlib.JSONDecodeFunc,
		"jsonencode":      stdlib.JSONEncodeFunc,
		"keys":            stdlib.KeysFunc,
		"length":          stdlib.LengthFunc,
		"lookup":          lookup(),
		"lower":           stdlib.LowerFunc,
		"max":             stdlib.MaxFunc,
		"merge":           stdlib.MergeFunc,
		"min":             stdlib.MinFunc,
		"parseint":        stdlib.ParseIntFunc,
		"range":           stdlib.RangeFunc,
		"regex":           stdlib.RegexFunc,
		"regexall":        stdlib.RegexAllFunc,
		"replace":         stdlib.ReplaceFunc,
		"reverse":         stdlib.ReverseListFunc,
		"setintersection": stdlib.SetIntersectionFunc,
		"setsubtract":     stdlib.SetSubtractFunc,
		"setunion":        stdlib.SetUnionFunc,
		"signum":          stdlib.SignumFunc,
		"slice":           stdlib.SliceFunc,
		"sort":            stdlib.SortFunc,
		"split":           stdlib.SplitFunc,
		"strrev":          stdlib.ReverseFunc,
		"substr":          stdlib.SubstrFunc,
		"title":           stdlib.TitleFunc,
		"tobool":          stdlib.MakeToFunc(cty.Bool),
		"tolist": stdlib.MakeToFunc(
			cty.List(cty.DynamicPseudoType),
		),
		"tomap": stdlib.MakeToFunc(
			cty.Map(cty.DynamicPseudoType),
		),
		"tonumber": stdlib.MakeToFunc(cty.Number),
		"toset":    stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tostring": stdlib.MakeToFunc(
			cty.String,
		),
		"trim":       stdlib.TrimFunc,
		"trimprefix": stdlib.TrimPrefixFunc,
		"trimspace":  stdlib.TrimSpaceFunc,
		"trimsuffix": stdlib.TrimSuffixFunc,
		"upper":      stdlib.UpperFunc,
		"values":     stdlib.ValuesFunc,
		"zipmap":     stdlib.ZipmapFunc,
	}
	// Every function is bounded, also those that look harmless: they can be nested.
	for name, f := range all {
		all[name] = bounded(f)
	}
	all["try"], all["can"] = tryfunc.TryFunc, tryfunc.CanFunc // they take expressions, which are bounded
	return all
}

// lookup returns Terraform's function of that name, whose default may be absent and may be null.
func lookup() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "map", Type: cty.DynamicPseudoType, AllowMarked: true}, {Name: "key", Type: cty.String},
		},
		VarParam: &function.Parameter{
			Name:             "default",
			Type:             cty.DynamicPseudoType,
			AllowNull:        true,
			AllowUnknown:     true,
			AllowDynamicType: true,
			AllowMarked:      true,
		},
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			// Marks of the map pass on to what is found in it.
			of, marks := args[0].Unmark()
			key := args[1].AsString()
			switch {
			case of.Type().IsObjectType() && of.Type().HasAttribute(key):
				return of.GetAttr(key).WithMarks(marks), nil
			case of.Type().IsMapType() && of.HasIndex(args[1]).True():
				return of.Index(args[1]).WithMarks(marks), nil
			case len(args) > 2:
				return args[2].WithMarks(marks), nil
			}
			return cty.DynamicVal, errors.New("the map has no such key")
		},
	})
}

// bounded returns a function that fails when its result is too large: nested calls could multiply texts without end,
// and a width in a format could do so by itself.
func bounded(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(), Type: f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			// The check comes before the call, which would already make the large text.
			for _, a := range args {
				if wide(a) {
					return cty.DynamicVal, errors.New("a width of more than 99")
				}
			}
			v, err := f.Call(args)
			if err == nil && !fits(v) {
				return cty.DynamicVal, errors.New("too large a value")
			}
			return v, err
		},
	})
}

// wide tells whether a text is a format with a width or precision of three digits or more.
func wide(v cty.Value) bool {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return false
	}
	verb, digits := false, 0
	for _, r := range v.AsString() {
		switch {
		case r == '%':
			verb, digits = !verb, 0
		case verb && r >= '0' && r <= '9':
			if digits++; digits > 2 {
				return true
			}
		// A letter ends the verb.
		case verb && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'):
			verb = false
		case verb:
			digits = 0
		}
	}
	return false
}

const (
	// maxText bounds a text in bytes, maxElements the parts of a value.
	maxText     = 16 << 10
	maxElements = 2000
)

// fits tells whether a value is within the bounds.
func fits(v cty.Value) bool {
	left := maxElements
	err := cty.Walk(v, func(_ cty.Path, x cty.Value) (bool, error) {
		x, _ = x.Unmark()
		// Every part counts, so that a list of empty lists is bounded as well.
		left--
		if left < 0 || x.IsKnown() && !x.IsNull() && x.Type() == cty.String && len(x.AsString()) > maxText {
			return false, errors.New("too large")
		}
		return true, nil
	})
	return err == nil
}
