package config

import (
	"cmp"
	"fmt"
	"strings"
)

// checkSizers finds two fleets that would both set the size of one group or service. Fleets that only watch may be
// many.
func (c *Config) checkSizers(s *source) {
	stated := map[string]string{}
	for i, f := range c.Fleets {
		path, what, name := sizes(f)
		if name == "" || f.Policy.Shadow {
			continue
		}
		path = fmt.Sprintf("fleets[%d].", i) + path
		key := what + " " + name + " " + f.region()
		if first, ok := stated[key]; ok {
			message := fmt.Sprintf("found the %s %s, allowed is another: it is sized by the fleet on line %d already, "+
				"and two who set one number undo each other", what, quote(name), s.places[first].line)
			s.fault(path, message,
				"a fleet that serves several queues has queues: [...]; one that only watches has shadow: true")
			continue
		}
		stated[key] = path
	}
}

// sizes returns what a fleet sets the size of: where that is stated, what it is, and its name; nothing for processes
// and tasks, which are a fleet's own.
func sizes(f Fleet) (path, what, name string) {
	switch {
	case f.ASG != nil:
		return "asg.group", "group", f.ASG.Group
	case f.ECS != nil && f.ECS.Service != "":
		return "ecs.service", "service", f.ECS.Cluster + "/" + f.ECS.Service
	}
	return "", "", ""
}

// region is where a fleet on AWS is: as stated, or where its queue is; empty where nothing says so.
func (f Fleet) region() (region string) {
	switch {
	case f.ASG != nil:
		region = f.ASG.Region
	case f.ECS != nil:
		region = f.ECS.Region
	}
	for _, q := range f.Queues {
		if _, rest, ok := strings.Cut(q.URL, "://sqs."); ok {
			at, _, _ := strings.Cut(rest, ".")
			region = cmp.Or(region, at)
		}
	}
	return region
}
