package foreign

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
)

// Fleet is what one group, service or workload was told, in our words. Another system sizes it today, so what is
// written of it begins in shadow.
type Fleet struct {
	// Name is a fleet's name; From says in words what it was, with its place.
	Name, From string
	// Queues are the URLs of its queues; none where no queue is known. A URL has REGION and ACCOUNT where nothing tells
	// them.
	Queues []string
	// Group is the name of the Auto Scaling group that it is, Cluster and Service those of an ECS service; empty for
	// another fleet. Region is where they are; empty where nothing tells it.
	Group, Cluster, Service, Region string
	// Kubernetes is the system that sizes a workload of Kubernetes; empty for any other fleet.
	Kubernetes string
	// Prometheus is where its backlog is read; empty where it is known by its queues.
	Prometheus Prometheus
	// Min and Max are sizes.
	Min, Max int
	// Slots is how many messages a member takes at once; zero where nothing was said of it.
	Slots int
	// Poll, Boot and Latency, the objective, are zero where nothing was said of them.
	Poll, Boot, Latency time.Duration
	// Policies are what sizes it; the largest counts where there are several. None stands for deadline.
	Policies []policy.Spec
	// Out and In shape its rises and falls.
	Out, In policy.Shape
	// Peer names the rule of the other system for comparisons, as in "keda[5]"; empty when there is none.
	Peer string
	// Notes are those of the result that are about this fleet; Remarks say in words what was chosen and why.
	Notes   []config.Fault
	Remarks []string

	// unsure says which names of Group, Cluster and Service stand in for others, and why.
	unsure map[string]string
}

// Prometheus is a query, and the URL of the server that answers it.
type Prometheus struct{ URL, Query string }

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

// QueueNames are the names of the queues.
func (f Fleet) QueueNames() (names []string) {
	for _, q := range f.Queues {
		names = append(names, baseOf(q))
	}
	return names
}

// baseOf is a queue's name, of its URL or ARN.
func baseOf(queue string) string { return queue[strings.LastIndexAny(queue, "/:")+1:] }

// Unstated values.
const (
	// unstatedMax is the largest size of a fleet whose template does not tell one.
	unstatedMax = 10
	// mostWorkers is the largest size that a configuration may state, mostPolicies how many policies largest may have,
	// mostQueues how many queues a fleet may serve.
	mostWorkers  = 10_000
	mostPolicies = 8
	mostSteps    = 20
	mostQueues   = 20
)

// draft is a fleet that is being read.
type draft struct {
	*reader
	Fleet
	at   *yaml.Node
	said []remark
	// steady is true once a policy may let workers go, kept once one says that it never does.
	steady, kept bool
	// stated is true where a window for falls was stated, which then counts alone.
	stated bool
	// falls are the reasons for which a fall waits, the longest of which counts.
	falls []wait
	// region and account are where its queues are; empty where nothing tells it.
	region, account string
	// workload is the pod of a workload of Kubernetes; nil where it is not stated.
	workload *yaml.Node
	// queueAt is where queues are named, dead are those that keep what failed.
	queueAt map[string]*yaml.Node
	dead    []string
}

// wait is how long something waits, and why in words.
type wait struct {
	lasts time.Duration
	why   string
}

// note adds a note about this fleet.
func (d *draft) note(n *yaml.Node, format string, args ...any) {
	d.said = noted(d.said, n, fmt.Sprintf(format, args...))
}

// remark says what was chosen, once.
func (d *draft) remark(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.Remarks, text) {
		d.Remarks = append(d.Remarks, text)
	}
}

// rest notes the keys of a mapping that nothing here knows.
func (d *draft) rest(n *yaml.Node, what string, known ...string) {
	nodes.Pairs(n, func(key, _ *yaml.Node) {
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

// falling makes a fall wait, for a reason that is told where it is the longest.
func (d *draft) falling(lasts time.Duration, why string, args ...any) {
	d.falls = append(d.falls, wait{lasts, fmt.Sprintf(why, args...)})
}

// settleFalls takes the longest of the reasons for which a fall waits. A window that was stated stands as it is.
func (d *draft) settleFalls() {
	if len(d.Policies) == 0 {
		d.Out, d.In = policy.Shape{}, policy.Shape{} // they shape a rule that is not there
		return
	}
	if d.stated || len(d.falls) == 0 {
		return
	}
	longest := slices.MaxFunc(d.falls, func(a, b wait) int { return int(a.lasts - b.lasts) })
	d.In.Stabilization = longest.lasts
	if longest.why != "" {
		d.remark("%s", longest.why)
	}
}

// done completes the fleet.
func (d *draft) done() *draft {
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
	d.settleFalls()
	d.Name = fleetName(d.Name)
	for i, q := range d.Queues {
		d.Queues[i] = d.urlOf(q)
	}
	return d
}

// urlOf is the URL of a queue that is known by its name alone. A name without a URL would be a queue of muster up
// itself, which would be empty, and an empty queue looks like one without work.
func (d *draft) urlOf(queue string) string {
	if strings.Contains(queue, "/") {
		return queue
	}
	region, account, domain := d.region, d.account, "amazonaws.com"
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
		d.remark(
			"Write yours in place of %s in the queue's URL: nothing here states them. Until then no queue is "+
				"read and the size is held.",
			strings.Join(unknown, " and "),
		)
	}
	return "https://sqs." + region + "." + domain + "/" + account + "/" + queue
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
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery &&
		u.Fragment == "" &&
		strings.HasSuffix(u.Path, "/"+name)
}

// useValue is use of what was resolved.
func (d *draft) useValue(n *yaml.Node, v value) {
	if v.guess != "" && !slices.Contains(d.QueueNames(), v.text) {
		d.note(n, "the name of the queue cannot be told (%s); %s stands for it", v.guess, brief(v.text))
	}
	d.use(n, v.text)
}

// use makes a name or URL one of the fleet's queues.
func (d *draft) use(n *yaml.Node, queue string) {
	base := baseOf(queue)
	if !goodURL(queue, base) {
		if strings.Contains(queue, "/") {
			d.note(n, "the queue's URL %s is not carried over, its name is: a configuration takes https alone, without "+
				"anything behind the path", brief(queue))
		}
		queue = base // of an ARN too
	}
	switch {
	case !queueName(base):
		d.note(n, "found the queue %s, which is no name of one", brief(queue))
	case slices.Contains(d.QueueNames(), base):
	case len(d.Queues) == mostQueues:
		d.note(n, "found more than %d queues; %s is left out", mostQueues, brief(base))
	default:
		d.Queues = append(d.Queues, queue)
		if deadLetterName(base) {
			d.dead = append(d.dead, base)
		}
		if d.queueAt == nil {
			d.queueAt = map[string]*yaml.Node{}
		}
		d.queueAt[base] = n
	}
}

// settleQueues leaves out dead-letter queues beside others: what lies there is not the work of the fleet. One that
// stands alone is what the rule goes by.
func (d *draft) settleQueues() {
	isDead := func(queue string) bool { return slices.Contains(d.dead, baseOf(queue)) }
	alone := !slices.ContainsFunc(d.Queues, func(q string) bool { return !isDead(q) })
	for _, q := range d.Queues {
		switch {
		case isDead(q) && alone:
			d.note(
				d.queueAt[baseOf(q)],
				"%s is a dead-letter queue; it is taken as the fleet's queue because its rule goes by it",
				brief(baseOf(q)),
			)
		case isDead(q):
			d.note(
				d.queueAt[baseOf(q)], "%s is a dead-letter queue and not taken as a queue of the fleet",
				brief(baseOf(q)),
			)
		}
	}
	if !alone {
		d.Queues = slices.DeleteFunc(d.Queues, isDead)
	}
	if len(d.Queues) > 1 {
		d.remark("It serves %d queues, and goes by what waits in all of them together.", len(d.Queues))
	}
}

// deadLetterName tells whether a queue's name says that it keeps what failed.
func deadLetterName(name string) bool {
	bare := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(strings.TrimSuffix(name, ".fifo")))
	return strings.HasSuffix(bare, "dlq") || strings.HasPrefix(bare, "dlq") || strings.Contains(bare, "deadletter") ||
		strings.HasSuffix(bare, "dead")
}

// lifecycleName tells whether a queue's name says that it takes notices of instances.
func lifecycleName(name string) bool {
	bare := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
	return strings.Contains(bare, "lifecycle") || strings.Contains(bare, "terminationqueue") ||
		strings.Contains(bare, "interruption") ||
		strings.Contains(bare, "rebalance")
}

// seconds is a duration of whole seconds from a text, within bounds.
func (d *draft) seconds(n *yaml.Node, text, what string, most time.Duration) time.Duration {
	v, ok := number(text)
	if !ok || v < 0 || v > most.Seconds() {
		d.note(
			n, "found %s for %s, allowed are 0 to %d seconds; it is not carried over", brief(text), what,
			int(most.Seconds()),
		)
		return 0
	}
	return time.Duration(v * float64(time.Second)).Round(time.Second)
}

// words renders a number for a remark.
func words(v float64) string { return render.Number(v) }

// Kind is what the fleet consists of, as the configuration calls it: asg or ecs; kubernetes where that is a workload of
// Kubernetes, which Muster does not size yet, and unknown where nothing tells.
func (f Fleet) Kind() string {
	switch {
	case f.Group != "":
		return "asg"
	case f.Service != "":
		return "ecs"
	case f.Kubernetes != "":
		return "kubernetes"
	}
	return "unknown"
}
