package playground

import (
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
)

// kinds are the kinds of fleets and queues that a configuration of the playground may state: one of each. The others
// belong to adapters, which link clients of clouds.
func kinds() config.Kinds {
	return config.Kinds{
		Members: []config.MembersKind{{New: func() config.Members { return &members{} }}},
		Queues: []config.QueueKind{{
			Name: "simulated", Plural: "simulated queues",
			Takes: func(string) bool { return true },
			Refer: func(text string) (q config.QueueRef, found, allowed string) {
				if strings.Contains(text, ":") {
					return q, text, "a name such as jobs: the playground reaches no service"
				}
				found, allowed = config.WrongQueueName(text)
				return config.QueueRef{Name: text}, found, allowed
			},
		}},
	}
}

// members are the workers of a simulated fleet. They report, and wait for a stop permit.
type members struct{}

// Keys implements [config.Members].
func (*members) Keys() []keys.Key { return nil }

// Facts implements [config.Members].
func (*members) Facts() config.Facts {
	return config.Facts{Local: true, Reported: true, Answered: true}
}

// Check implements [config.Members].
func (*members) Check(s *keys.Source, path string, f *config.Fleet) { f.CheckWorkers(s, path) }

// parse reads the text of a configuration. A variable in it is a fault, because a browser has none.
func parse(name, text string) (*config.Config, error) {
	return config.Parse(name, []byte(text), func(string) (string, bool) { return "", false }, kinds())
}
