package remote

import (
	"context"
	"fmt"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/kind"
)

// unsized is a fleet that states no kind: in muster up it consists of processes of that machine. It is a fault here,
// with a message of its own, because the same file may be that of a muster up.
type unsized struct{}

// Keys implements [config.Members].
func (*unsized) Keys() []keys.Key { return nil }

// Facts implements [config.Members].
func (*unsized) Facts() config.Facts {
	return config.Facts{Local: true, Reported: true, Answered: true}
}

// Check implements [config.Members].
func (*unsized) Check(s *keys.Source, path string, f *config.Fleet) {
	s.Fault(path, fmt.Sprintf("found the fleet %s without asg or ecs; this program starts no processes, so allowed is "+
		"an Auto Scaling group or an ECS service", f.Name), "")
}

// Describe implements [kind.Members].
func (*unsized) Describe() string { return "processes of another machine" }

// World implements [kind.Members].
func (*unsized) World() kind.World { return kind.World{Local: true} }

// Writes implements [kind.Members].
func (*unsized) Writes(bool) []string { return nil }

// Open implements [kind.Members].
func (*unsized) Open(_ context.Context, _ *kind.Host, f config.Fleet, _ *kind.Ports) (*kind.Ports, error) {
	return nil, fmt.Errorf("open the fleet %s: its members are processes, and this program starts none", f.Name)
}
