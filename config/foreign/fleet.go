package foreign

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/policy"
)

// Fleet is what one group, service or workload was told, in our words.
type Fleet struct {
	// Name is a fleet's name; From says in words what it was, with its place.
	Name, From string
	// Queue is the name or the URL of its queue; empty when it has none.
	Queue string
	// Group is the name of the Auto Scaling group that it is; empty for another fleet.
	Group string
	// Min and Max are sizes.
	Min, Max int
	// Poll and Boot are zero where nothing was said of them.
	Poll, Boot time.Duration
	// Policies are what sizes it; the largest counts where there are several. None stands for deadline.
	Policies []policy.Spec
	// Out and In shape its rises and falls.
	Out, In policy.Shape
	// Peer names the rule of the other system for comparisons, as in "keda[5]"; empty when there is none.
	Peer string
	// Notes are those of the result that are about this fleet; Remarks say in words what was chosen and why.
	Notes   []config.Fault
	Remarks []string
}

// Spec is the policy of all.
func (f Fleet) Spec() policy.Spec {
	s := policy.Spec{Name: policy.Default}
	switch len(f.Policies) {
	case 0:
	case 1:
		s = f.Policies[0]
	default:
		s = policy.Spec{Name: "largest", Largest: f.Policies}
	}
	s.Out, s.In = f.Out, f.In
	return s
}

// Unstated values.
const (
	// unstatedMax is the largest size of a fleet whose template does not tell one.
	unstatedMax = 10
	// mostWorkers is the largest size that a configuration may state, mostPolicies how many policies largest may have.
	mostWorkers  = 10_000
	mostPolicies = 8
	mostSteps    = 20
)

// draft is a fleet that is being read.
type draft struct {
	*reader
	Fleet
	at *yaml.Node
	// steady is true once a policy may let workers go, kept once one says that it never does.
	steady, kept bool
}

// note adds a note about this fleet.
func (d *draft) note(n *yaml.Node, format string, args ...any) {
	if f := d.place(n, format, args...); !slices.Contains(d.Notes, f) && len(d.Notes) < maxNotes {
		d.Notes, d.notes = append(d.Notes, f), append(d.notes, f)
	}
}

// remark says what was chosen, once.
func (d *draft) remark(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.Remarks, text) {
		d.Remarks = append(d.Remarks, text)
	}
}

// rest notes the keys of a mapping that nothing here knows.
func (d *draft) rest(n *yaml.Node, what string, known ...string) {
	pairs(n, func(key, _ *yaml.Node) {
		if !slices.Contains(known, key.Value) {
			d.note(key, "%s of %s is not carried over", brief(key.Value), what)
		}
	})
}

// add adds a policy, as long as there is room.
func (d *draft) add(n *yaml.Node, s policy.Spec) {
	if len(d.Policies) == mostPolicies {
		d.note(n, "found more than %d policies; this one is not carried over", mostPolicies)
		return
	}
	d.Policies = append(d.Policies, s)
}

// size makes a size of what was found, or notes that it is none.
func (d *draft) size(n *yaml.Node, v value, what string, otherwise int) int {
	size, ok := number(v.text)
	switch {
	case v.why != "":
		d.note(n, "%s cannot be told (%s); %d stands for it", what, v.why, otherwise)
	case !ok || size < 0 || size != float64(int(size)):
		d.note(n, "found %s for %s, which is no size; %d stands for it", brief(v.text), what, otherwise)
	case size > mostWorkers:
		d.note(n, "found %s of %s; %d is the most", what, brief(v.text), mostWorkers)
		return mostWorkers
	default:
		return int(size)
	}
	return otherwise
}

// done completes the fleet.
func (d *draft) done() Fleet {
	if d.Max < d.Min {
		d.note(d.at, "the most, %d, is below the least, %d; the least stands for both", d.Max, d.Min)
		d.Max = d.Min
	}
	if d.kept {
		d.In.Disabled = !d.steady
		if d.steady {
			d.note(d.at, "one of several policies does not scale in (DisableScaleIn): here its value keeps workers too")
		}
	}
	d.oneKind()
	if len(d.Policies) == 0 {
		d.remark("Nothing that sizes it could be carried over, so it has the default policy, deadline.")
	}
	d.Name = fleetName(d.Name)
	sortNotes(d.Notes)
	return d.Fleet
}

// fleetName makes a name that a fleet may have.
func fleetName(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-' || r == '_' || r == '.':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	name := strings.TrimLeft(b.String(), "-_.")
	name = name[:min(len(name), 63)]
	if name == "" {
		return "fleet"
	}
	return name
}

// queueName tells whether SQS could have a queue of that name.
func queueName(name string) bool {
	base := strings.TrimSuffix(name, ".fifo")
	return base != "" && len(name) <= 80 && !strings.ContainsFunc(base, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// goodURL tells whether a configuration takes a URL whose last part is the queue's name.
func goodURL(text, name string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && strings.HasSuffix(u.Path, "/"+name)
}

// useValue is use of what was resolved.
func (d *draft) useValue(n *yaml.Node, v value) {
	if v.guess != "" && d.Queue == "" {
		d.note(n, "the name of the queue cannot be told (%s); its logical id %s stands for it", v.guess, brief(v.text))
	}
	d.use(n, v.text)
}

// use makes a name or URL the fleet's queue, unless it has one.
func (d *draft) use(n *yaml.Node, queue string) {
	base := queue[strings.LastIndexByte(queue, '/')+1:]
	if base != queue && !goodURL(queue, base) {
		d.note(n, "the queue's URL %s is not carried over, its name is: a configuration takes https alone, without anything behind the path", brief(queue))
		queue = base
	}
	switch {
	case !queueName(base):
		d.note(n, "found the queue %s, which is no name of one", brief(queue))
	case d.Queue == "":
		d.Queue = queue
	case d.Queue[strings.LastIndexByte(d.Queue, '/')+1:] != base:
		d.note(n, "found a second queue, %s; the fleet serves %s, and metrics of the other one are read from CloudWatch", brief(queue), brief(d.Queue))
	}
}

// seconds is a duration of whole seconds from a text, within bounds.
func (d *draft) seconds(n *yaml.Node, text, what string, most time.Duration) time.Duration {
	v, ok := number(text)
	if !ok || v < 0 || v > most.Seconds() {
		d.note(n, "found %s for %s, allowed are 0 to %d seconds; it is not carried over", brief(text), what, int(most.Seconds()))
		return 0
	}
	return time.Duration(v * float64(time.Second)).Round(time.Second)
}

// words renders a number for a remark.
func words(v float64) string { return muster.Number(v) }
