package importing

import (
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/foreign"
	"github.com/muster-scale/muster/kinds"
)

// Parse reads a configuration that an import has written. It contains no environment variables.
func Parse(text []byte) (*config.Config, error) {
	return config.Parse("the configuration", text, func(string) (string, bool) { return "", false },
		kinds.Table().Config())
}

// Result is what muster import -o json prints.
type Result struct {
	// Configuration is the text of the configuration, with its comments.
	Configuration string  `json:"configuration"`
	Fleets        []Fleet `json:"fleets"`
	// Notes say, with their place, what was not imported or has another meaning now.
	Notes []config.Fault `json:"notes"`
}

// Fleet is one fleet of the configuration.
type Fleet struct {
	Name string `json:"name"`
	// From describes the source in words. Kind is what the fleet consists of: "asg", "ecs", "kubernetes" or "unknown".
	From string `json:"from"`
	Kind string `json:"kind"`
	// Queues are URLs, with the placeholders REGION and ACCOUNT where the source does not state them.
	Queues []string `json:"queues"`
	Min    int      `json:"min"`
	Max    int      `json:"max"`
	Policy string   `json:"policy"`
	// Remarks say what was chosen and why.
	Remarks []string `json:"remarks"`
}

// Describe describes an import and the configuration that was written for it.
func Describe(r foreign.Result, written []byte) Result {
	result := Result{Configuration: string(written), Notes: append([]config.Fault{}, r.Notes...)}
	for _, f := range r.Fleets {
		result.Fleets = append(
			result.Fleets,
			Fleet{Name: f.Name, From: f.From, Kind: f.Kind(), Queues: append([]string{}, f.Queues...),
				Min: f.Min, Max: f.Max, Policy: f.Spec().Name, Remarks: append([]string{}, f.Remarks...)},
		)
	}
	return result
}
