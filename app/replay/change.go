package replay

import (
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/edit"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/kinds"
)

// Changed returns the configuration c with a fleet changed, and the text of the changed fleet: see [edit.Fleet]. Errors
// are about the request.
func Changed(c *config.Config, fleet, policy string, set []string) (*config.Config, string, error) {
	text, part, err := edit.Fleet(c.Text(), fleet, policy, set)
	if err != nil {
		return nil, "", err
	}
	changed, err := kinds.Parse("the changed configuration", text)
	if err != nil {
		return nil, "", misuse.Wrap(err)
	}
	return changed, part, nil
}
