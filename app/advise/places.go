package advise

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/advice"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
)

// places finds the lines of values in the text of a configuration. Its root is nil without a text.
type places struct{ root *yaml.Node }

// placesOf reads a text. One that cannot be read has no places: the configuration was read before, so a fault was
// reported there.
func placesOf(text []byte) places {
	if len(text) == 0 {
		return places{}
	}
	root, ok := keys.NewSource("", text).Parse(text)
	if !ok {
		return places{}
	}
	return places{root}
}

// pathOf returns the path of a key of the fleet with index at.
func pathOf(c *config.Config, at int, f config.Fleet, k advice.Key) string {
	if k == advice.QueueRetention {
		if i := queueOf(c, f); i >= 0 {
			return fmt.Sprintf("queues[%d].retention", i)
		}
		return "queues"
	}
	return fmt.Sprintf("fleets[%d].%s", at, k)
}

// line returns the line of the value at a path, or that of the nearest value around it; stated tells which. It is 0
// without a text.
func (p places) line(path string) (line int, stated bool) {
	n := p.root
	if n == nil {
		return 0, false
	}
	line = n.Line
	for _, part := range strings.Split(path, ".") {
		name, index, listed := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		if n = child(n, name); n != nil && listed {
			i, err := strconv.Atoi(index)
			if err != nil || n.Kind != yaml.SequenceNode || i >= len(n.Content) {
				return line, false
			}
			n = n.Content[i]
		}
		if n == nil {
			return line, false
		}
		line = n.Line
	}
	return line, true
}

// child returns the value of a key in a mapping; nil if there is none.
func child(n *yaml.Node, name string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}
