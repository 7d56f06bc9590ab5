package asg

import (
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
)

// Blueprint implements [kind.Templated].
func (c *Config) Blueprint(config.Fleet) kind.Blueprint {
	b := kind.Blueprint{Group: c.Group}
	if p := c.WarmPool; p != nil && p.Size > 0 {
		b.Pool = &kind.Pool{Size: p.Size, State: poolState(p.State), Reuse: p.Reuse}
	}
	return b
}
