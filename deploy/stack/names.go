package stack

import (
	"fmt"
	"regexp"
)

// This file keeps to the rules of AWS for names that the configuration does not state itself, but that follow from
// those in it. AWS would refuse such a name only while the stack is made, and then remove everything again.

// Longest names in AWS, in characters.
const (
	longestQueue    = 80
	longestFunction = 64
)

// checkNames refuses names that AWS would not take, and queues that would be made twice.
func (m *maker) checkNames() error {
	all := m.Queues
	if m.Events != nil {
		all = append(all[:len(all):len(all)], m.Events.Queue)
	}
	made := map[string]bool{}
	for _, q := range all {
		made[q.Name] = true
	}
	dead := map[string]string{}
	for _, q := range all {
		other, twice := dead[q.Dead]
		dead[q.Dead] = q.Name
		switch {
		case made[q.Dead]:
			return fmt.Errorf("the queue %s of the configuration has the name of the queue of dead letters that the "+
				"template makes for %s: rename one of them", q.Dead, q.Name)
		case twice:
			return fmt.Errorf("the queues %s and %s would have the same queue of dead letters: state each once", other,
				q.Name)
		case len(q.Dead) > longestQueue:
			return fmt.Errorf("the queue of dead letters of %s would be %s, with %d characters, allowed are %d: "+
				"choose a shorter name for the queue", q.Name, q.Dead, len(q.Dead), longestQueue)
		}
	}
	for _, f := range m.Functions {
		if n := len(f.Name); n > longestFunction {
			return fmt.Errorf("the function %s would have a name of %d characters, allowed are %d: choose a name for "+
				"the fleet that has %d at most", f.Name, n, longestFunction, longestFunction-len(f.Name)+len(m.Fleet))
		}
	}
	return nil
}

// providerName matches what may name a capacity provider. It is narrower than the name of a group.
var (
	providerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)
	reserved     = regexp.MustCompile(`(?i)^(aws|ecs|fargate)`)
)

// provider returns the name of the capacity provider on the group: that of the group where ECS takes it. ECS keeps
// names that begin with aws, ecs or fargate to itself.
func (m *maker) provider() string {
	if name := m.b.Group; providerName.MatchString(name) && !reserved.MatchString(name) {
		return name
	}
	return "muster-" + m.Label()
}
