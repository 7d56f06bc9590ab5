package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/config/policies"
	"github.com/muster-scale/muster/policy"
)

// This file declares the keys by which a fleet states how its size is decided. Most are bound to a [policy.Spec], which
// checks them; see policies.go for how its faults are reported.

// policyRows declare the policy and everything that applies to its recommendation afterwards: headroom, budget, the
// rates of rise and fall, and shadow mode.
func (f *Fleet) policyRows() []keys.Key {
	p := &f.Policy
	outermost := func() []keys.Key { return policies.Keys(new(policy.Spec), true) }
	decode := func(d *keys.Decoder, n *yaml.Node, path string) { policies.Decode(d, n, path, p, true) }
	return []keys.Key{
		keys.Custom("policy", keys.NamedForm, "how the size is decided, by default deadline", decode).
			Enum(policy.Names()...).Of(outermost).Implied(policy.Default).Fill(func(s *keys.Source, path string) {
			if !s.Has(path) {
				p.Name = policy.Default
			}
		}),
		keys.Custom("headroom", keys.ShareForm, "workers added to the policy's recommendation, as in 4 or 10%",
			f.decodeHeadroom),
		keys.Number("price", &p.PricePerHour, "what one worker costs in an hour, in any currency"),
		keys.Number("budget", &p.BudgetPerHour,
			"the most that the fleet may cost in an hour, in the currency of price"),
		keys.Into("scale_out", &p.Out, policies.ShapeKeys, "how the size rises"),
		keys.Into("scale_in", &p.In, policies.ShapeKeys, "how the size falls"),
		keys.Truth("shadow", &p.Shadow, "whether Muster only decides and records, while another system sizes "+
			"the fleet; false by default"),
	}
}

// decodeHeadroom decodes a number of workers, as in 4, or a percentage, as in 10%.
func (f *Fleet) decodeHeadroom(d *keys.Decoder, n *yaml.Node, path string) {
	var err error
	switch number, percent := strings.CutSuffix(n.Value, "%"); {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!int":
		f.Policy.HeadroomWorkers, err = strconv.Atoi(n.Value)
	case n.Kind == yaml.ScalarNode && percent && keys.Consists(number, ".") && number != "":
		f.Policy.HeadroomPercent, err = strconv.ParseFloat(number, 64)
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		d.Wrong(n, path, "a number of workers, as in 4, or a percentage, as in 10%", "")
	}
}
