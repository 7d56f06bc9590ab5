package draft

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/policy"
)

// Unresolved stands in for a text that is not known.
const Unresolved = "unresolved"

// Defaults and bounds of a configuration.
const (
	// UnstatedMax is the largest size of a fleet whose source states none.
	UnstatedMax = 10
	// MostWorkers is the largest size that a configuration may state. mostPolicies is how many policies the maximum
	// may be of, mostQueues how many queues a fleet may serve.
	MostWorkers  = 10_000
	mostPolicies = 8
	mostQueues   = 20
)

// Draft is a fleet while it is read. It is not safe for concurrent use.
type Draft struct {
	Fleet
	// At is the place of the fleet, Said the notes about it.
	At   *yaml.Node
	Said nodes.Notes
	// Steady is true once a policy allows falls, Kept once a policy forbids them (DisableScaleIn).
	Steady, Kept bool
	// Stated is true when the source states a window for falls. That window then counts, and no reason of falls does.
	Stated bool
	// falls are the reasons why a fall waits; the longest counts.
	falls []wait
	// QueueRegion and QueueAccount say where its queues are; empty when that is not known.
	QueueRegion, QueueAccount string
	// Dead holds the names of dead-letter queues; queueAt has the place of each queue's name.
	Dead    []string
	queueAt map[string]*yaml.Node
}

// wait is how long a fall waits, and why in words.
type wait struct {
	lasts time.Duration
	why   string
}

// Note adds a note about this fleet, at the place of n.
func (d *Draft) Note(n *yaml.Node, format string, args ...any) { d.Said.Add(n, format, args...) }

// Remark adds a sentence about what was chosen; the same sentence is added once.
func (d *Draft) Remark(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.Remarks, text) {
		d.Remarks = append(d.Remarks, text)
	}
}

// Rest adds a note for each key of a mapping that is not among the known ones, so that nothing is dropped silently.
func (d *Draft) Rest(n *yaml.Node, what string, known ...string) {
	nodes.Pairs(n, func(key, _ *yaml.Node) {
		if !slices.Contains(known, key.Value) {
			d.Note(key, "%s of %s is not carried over", nodes.Brief(key.Value), what)
		}
	})
}

// Add adds a policy, up to the bound of a configuration.
func (d *Draft) Add(n *yaml.Node, s policy.Spec) {
	if len(d.Policies) == mostPolicies {
		d.Note(n, "found more than %d policies; this one is not carried over", mostPolicies)
		return
	}
	d.Policies = append(d.Policies, s)
}

// Size returns the size that a text states, or otherwise with a note. why says why the text is not known; empty when
// it is.
func (d *Draft) Size(n *yaml.Node, text, why, what string, otherwise int) int {
	size, ok := nodes.Number(text)
	switch {
	case why != "":
		d.Note(n, "%s cannot be determined (%s); %d is used instead", what, why, otherwise)
	case !ok || size < 0 || size != float64(int(size)):
		d.Note(n, "found %s for %s, which is no size; %d is used instead", nodes.Brief(text), what, otherwise)
	case size > MostWorkers:
		d.Note(n, "found %s of %s; %d is the most", what, nodes.Brief(text), MostWorkers)
		return MostWorkers
	default:
		return int(size)
	}
	return otherwise
}

// Falling adds a reason why a fall waits; why becomes a remark if this reason is the longest.
func (d *Draft) Falling(lasts time.Duration, why string, args ...any) {
	d.falls = append(d.falls, wait{lasts, fmt.Sprintf(why, args...)})
}

// settleFalls sets the stabilization of falls to the longest of their reasons, unless the source states a window.
func (d *Draft) settleFalls() {
	if len(d.Policies) == 0 {
		d.Out, d.In = policy.Shape{}, policy.Shape{} // they shape a rule that is not there
		return
	}
	if d.Stated || len(d.falls) == 0 {
		return
	}
	longest := slices.MaxFunc(d.falls, func(a, b wait) int { return int(a.lasts - b.lasts) })
	d.In.Stabilization = longest.lasts
	if longest.why != "" {
		d.Remark("%s", longest.why)
	}
}

// Done completes the fleet: bounds in order, falls settled, the name and the queues' URLs valid.
func (d *Draft) Done() *Draft {
	if d.Max < d.Min {
		d.Note(d.At, "the most, %d, is below the least, %d; the least stands for both", d.Max, d.Min)
		d.Max = d.Min
	}
	if d.Kept {
		d.In.Disabled = !d.Steady
		if d.Steady {
			d.Note(d.At, "one of several policies does not scale in (DisableScaleIn): here its value keeps workers too")
		}
	}
	d.settleFalls()
	d.Name = nodes.Name(d.Name)
	for i, q := range d.Queues {
		d.Queues[i] = d.urlOf(q)
	}
	return d
}

// urlOf returns the URL of a queue that is known by its name alone. A bare name would mean a queue of muster up
// itself: that queue would be empty, and an empty queue looks like one without work.
func (d *Draft) urlOf(queue string) string {
	if strings.Contains(queue, "/") {
		return queue
	}
	region, account, domain := d.QueueRegion, d.QueueAccount, "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	var unknown []string
	if region == "" {
		region, unknown = "REGION", append(unknown, "REGION")
	}
	if account == "" {
		account, unknown = "ACCOUNT", append(unknown, "ACCOUNT")
	}
	if len(unknown) > 0 {
		d.Remark(
			"Write yours in place of %s in the queue's URL: nothing here states them. Until then no queue is "+
				"read and the size is held.",
			strings.Join(unknown, " and "),
		)
	}
	return "https://sqs." + region + "." + domain + "/" + account + "/" + queue
}

// QueueName tells whether a name is valid for an SQS queue.
func QueueName(name string) bool {
	base := strings.TrimSuffix(name, ".fifo")
	return base != "" && len(name) <= 80 && !strings.ContainsFunc(base, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// GoodURL tells whether a configuration accepts a URL whose last part is the queue's name.
func GoodURL(text, name string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery &&
		u.Fragment == "" &&
		strings.HasSuffix(u.Path, "/"+name)
}

// Use makes a name, URL or ARN one of the fleet's queues, up to the bound of a configuration.
func (d *Draft) Use(n *yaml.Node, queue string) {
	base := BaseOf(queue)
	if !GoodURL(queue, base) {
		if strings.Contains(queue, "/") {
			d.Note(n,
				"the queue's URL %s is not carried over, its name is: a configuration takes https alone, without "+
					"anything behind the path", nodes.Brief(queue))
		}
		queue = base // of an ARN too
	}
	switch {
	case !QueueName(base):
		d.Note(n, "found the queue %s, which is no name of one", nodes.Brief(queue))
	case slices.Contains(d.QueueNames(), base):
	case len(d.Queues) == mostQueues:
		d.Note(n, "found more than %d queues; %s is left out", mostQueues, nodes.Brief(base))
	default:
		d.Queues = append(d.Queues, queue)
		if DeadLetterName(base) {
			d.Dead = append(d.Dead, base)
		}
		if d.queueAt == nil {
			d.queueAt = map[string]*yaml.Node{}
		}
		d.queueAt[base] = n
	}
}

// SettleQueues drops dead-letter queues when the fleet has other queues, because what lies there is not its work. A
// dead-letter queue that is the only one stays: the rule goes by it.
func (d *Draft) SettleQueues() {
	isDead := func(queue string) bool { return slices.Contains(d.Dead, BaseOf(queue)) }
	alone := !slices.ContainsFunc(d.Queues, func(q string) bool { return !isDead(q) })
	for _, q := range d.Queues {
		switch {
		case isDead(q) && alone:
			d.Note(
				d.queueAt[BaseOf(q)],
				"%s is a dead-letter queue; it is taken as the fleet's queue because its rule goes by it",
				nodes.Brief(BaseOf(q)),
			)
		case isDead(q):
			d.Note(
				d.queueAt[BaseOf(q)], "%s is a dead-letter queue and not taken as a queue of the fleet",
				nodes.Brief(BaseOf(q)),
			)
		}
	}
	if !alone {
		d.Queues = slices.DeleteFunc(d.Queues, isDead)
	}
	if len(d.Queues) > 1 {
		d.Remark("It serves %d queues, and goes by what waits in all of them together.", len(d.Queues))
	}
}

// DeadLetterName tells whether a queue's name looks like that of a dead-letter queue.
func DeadLetterName(name string) bool {
	bare := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(strings.TrimSuffix(name, ".fifo")))
	return strings.HasSuffix(bare, "dlq") || strings.HasPrefix(bare, "dlq") || strings.Contains(bare, "deadletter") ||
		strings.HasSuffix(bare, "dead")
}

// Seconds returns the duration that a text states in seconds; 0 with a note when it is not within 0 and most.
func (d *Draft) Seconds(n *yaml.Node, text, what string, most time.Duration) time.Duration {
	v, ok := nodes.Number(text)
	if !ok || v < 0 || v > most.Seconds() {
		d.Note(
			n, "found %s for %s, allowed are 0 to %d seconds; it is not carried over", nodes.Brief(text), what,
			int(most.Seconds()),
		)
		return 0
	}
	return time.Duration(v * float64(time.Second)).Round(time.Second)
}

// BaseOf returns the name of a queue from its name, URL or ARN.
func BaseOf(queue string) string { return queue[strings.LastIndexAny(queue, "/:")+1:] }
