package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/config/channels"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/config/sharing"
)

// This file declares the top level of a configuration: its version, servers, embedded queues, and how AWS is called. It
// also has the checks that span several fleets.

// The bounds of lists. They are far above any use, and keep a generated file from taking unbounded time and memory.
const (
	maxQueues    = 1000
	maxFleets    = 1000
	maxArguments = 256
	maxVariables = 256
	maxServed    = 20
)

const (
	// version is the only version of the configuration. A later, incompatible format would have another one.
	version = 1
	// maxWorkers bounds the size of a fleet.
	maxWorkers  = 10_000
	day         = 24 * time.Hour
	maxLatency  = 14 * day
	maxLaunches = 1_000_000
)

// rows declare the top level of the file. Fleets are filled in and checked as a whole, after each by itself.
func (c *Config) rows(kinds Kinds) []keys.Key {
	found := 0
	fleet := func(f *Fleet) []keys.Key { return f.rows(kinds) }
	return []keys.Key{
		keys.Whole("version", &found, "the version of the configuration: 1").Required().Check(checkVersion),
		keys.Text("data", &c.Data, "the directory of the queue, the history and the keys; .muster next to the file by "+
			"default").Default(".muster").Check(checkData),
		keys.Into("listen", &c.Listen, (*Listen).rows, "where the servers listen").Check(c.Listen.check),
		keys.Truth("strict", &c.Strict, "whether embedded queues refuse, as AWS does, a second purge and the name "+
			"of a deleted queue for 60s; false by default"),
		keys.Into("dashboard", &c.Dashboard, (*Dashboard).rows, "the page at the address of the HTTP API"),
		keys.Into("aws", &c.AWS, (*AWS).rows, "how AWS is called, for all fleets together"),
		keys.Into("controllers", &c.Controllers, (*sharing.Controllers).Keys, "how several controllers take turns "+
			"(docs/availability.md)"),
		channels.Keys(&c.Notify, kinds.Channels),
		keys.List("events", &c.Events, maxEvents, func(e *EventQueue) []keys.Key { return e.rows(kinds) },
			"the queues of events that wake fleets (docs/events.md)").Check(c.checkEvents),
		keys.List("queues", &c.Queues, maxQueues, (*Queue).rows, "attributes of embedded queues").Check(c.checkQueues),
		keys.List("fleets", &c.Fleets, maxFleets, fleet, "the fleets").Fill(c.settleFleets).
			Check(func(s *keys.Source, path string) { c.checkFleets(s, path, kinds) }),
	}
}

// local returns a new statement of the first kind of fleet, which has no key; nil when there are no kinds.
func (k Kinds) local() Members {
	if len(k.Members) == 0 {
		return nil
	}
	return k.Members[0].New()
}

// checkVersion requires the version, so that a file of a later format is refused as such, not key by key.
func checkVersion(s *keys.Source, path string, found int) {
	if found == version {
		return
	}
	hint := ""
	if !s.Has(path) {
		hint = "begin the file with \"version: 1\""
	}
	s.Fault(path, s.Missing(path, strconv.Itoa(found), "1"), hint)
}

func checkData(s *keys.Source, path, data string) {
	if data == "" || len(data) > 1024 || strings.ContainsRune(data, 0) {
		s.Fault(path, fmt.Sprintf("found %s, allowed is the path of a directory", keys.Quote(data)), "")
	}
}

// maxPrefix bounds the prefix of the dashboard, in bytes.
const maxPrefix = 200

// Dashboard says how browsers use the HTTP API.
type Dashboard struct {
	// Prefix is a path below which page and API are served, too, for a proxy in front: empty, or as in /muster.
	Prefix string
	// Peek allows browsers to read the bodies of messages in embedded queues. ReadOnly allows them no change.
	Peek, ReadOnly bool
}

func (d *Dashboard) rows() []keys.Key {
	return []keys.Key{
		keys.Text("prefix", &d.Prefix, "a path below which the page and the API are served, too, as in /muster, for a "+
			"proxy in front; none by default").Check(checkPrefix),
		keys.Truth("peek", &d.Peek, "whether the page may show the bodies of messages in embedded queues; false by "+
			"default"),
		keys.Truth("read_only", &d.ReadOnly, "whether the page may change nothing, whatever the login link; false by "+
			"default"),
	}
}

// checkPrefix adds a fault when prefix cannot be the beginning of a path. Only the characters are allowed that need no
// escaping.
func checkPrefix(s *keys.Source, path, prefix string) {
	name, rooted := strings.CutPrefix(prefix, "/")
	bad := !rooted || len(prefix) > maxPrefix || !keys.Consists(strings.ReplaceAll(name, "/", ""), "-_") ||
		strings.Contains(prefix, "//") || strings.HasSuffix(prefix, "/")
	if prefix != "" && bad {
		s.Fault(path, "found "+keys.Quote(prefix)+", allowed is a path of letters, digits, hyphens and underscores, "+
			"as in /muster", "")
	}
}

// AWS holds the settings of all calls of AWS. The limits apply to all fleets together, because AWS throttles the
// account.
type AWS struct {
	// Region is used where nothing names another; empty means that of the SDK's configuration.
	Region string
	// CallsPerSecond is how many calls may be made in a second, 0.1 to 10,000, by default 50; Burst is how many at
	// once, 1 to 10,000, by default 100.
	CallsPerSecond float64
	Burst          int
	// QueueMetrics enables reading ages and rates of queues from CloudWatch; true by default. Metrics that a policy,
	// metrics or delegate name are read in any case.
	QueueMetrics bool
}

func (a *AWS) rows() []keys.Key {
	return []keys.Key{
		keys.Text("region", &a.Region,
			"the region where nothing names another; by default that of the AWS tools").Check(CheckRegion),
		keys.Number("calls_per_second", &a.CallsPerSecond, "calls to AWS in a second, of all fleets together: 0.1 to "+
			"10000, by default 50").Default(50).Within(0.1, 10_000),
		keys.Whole("burst", &a.Burst, "calls to AWS at once: 1 to 10000, by default 100").Default(100).Within(1,
			10_000),
		keys.Truth("queue_metrics", &a.QueueMetrics, "whether the oldest age and the rates of queues are read from "+
			"CloudWatch, which has a price for each metric; true by default").Default(true),
	}
}

// CheckRegion adds a fault when region cannot be the name of an AWS region. An empty one is allowed. Only the form is
// checked, because AWS adds regions.
func CheckRegion(s *keys.Source, path, region string) {
	if region != "" && (len(region) > 40 || !keys.Consists(region, "-") || strings.Count(region, "-") < 2) {
		s.Fault(path, "found "+keys.Quote(region)+", allowed is a region, as in eu-west-1", "")
	}
}

func (l *Listen) rows() []keys.Key {
	return []keys.Key{
		keys.Text("queue", &l.Queue,
			"the SQS endpoint of the embedded queues, 127.0.0.1:9324 by default").Default("127.0.0.1:9324"),
		keys.Text("api", &l.API, "the HTTP API, 127.0.0.1:9325 by default").Default("127.0.0.1:9325"),
		keys.Into("beyond", &l.Beyond, (*Beyond).rows,
			"opens both to other machines, with TLS only").Check(l.Beyond.check),
	}
}

// check checks the two addresses on this machine. Two servers with port 0 get different ports, so they may be equal.
func (l *Listen) check(s *keys.Source, path string) {
	at := keys.Join(path, "api")
	queue := checkAddress(s, keys.Join(path, "queue"), l.Queue)
	api := checkAddress(s, at, l.API)
	if queue && api && l.Queue == l.API && !strings.HasSuffix(l.API, ":0") {
		s.Fault(at, fmt.Sprintf("found %s, allowed is another address than that of the queues", keys.Quote(l.API)), "")
	}
}

func (b *Beyond) rows() []keys.Key {
	return []keys.Key{
		keys.Text("queue", &b.Queue,
			"the address of the SQS endpoint for other machines, as in 0.0.0.0:9334").Check(checkBeyond),
		keys.Text("api", &b.API,
			"the address of the HTTP API for other machines, as in 0.0.0.0:9335").Check(checkBeyond),
		keys.Text("cert", &b.Cert, "the file of the certificate chain, in PEM").Required(),
		keys.Text("key", &b.Key, "the file of the certificate's key, in PEM").Required(),
		keys.Texts("hosts", &b.Hosts, maxServed, "the names under which the servers are reached").Required(),
	}
}

// checkBeyond checks an address for other machines, which may be any of this machine.
func checkBeyond(s *keys.Source, path, address string) {
	_, port, err := net.SplitHostPort(address)
	_, errPort := strconv.ParseUint(port, 10, 16)
	if s.Has(path) && (err != nil || errPort != nil) {
		s.Fault(path, fmt.Sprintf("found %s, allowed is host:port, as in 0.0.0.0:9334", keys.Quote(address)), "")
	}
}

// check requires a certificate, its key and the host names when the servers are opened to other machines. Without TLS,
// credentials and messages would cross the network unencrypted; the names protect from DNS rebinding.
func (b *Beyond) check(s *keys.Source, path string) {
	if !s.Has(path) {
		return
	}
	if b.Queue == "" && b.API == "" {
		s.Fault(path, "found no address, allowed is queue, api or both", "")
	}
	for _, file := range [][2]string{{"cert", b.Cert}, {"key", b.Key}} {
		if at := keys.Join(path, file[0]); file[1] == "" {
			const allowed = "a file in PEM: without TLS, keys and messages would cross the network unencrypted"
			s.Fault(at, s.Missing(at, "no file", allowed), "")
		}
	}
	if at := keys.Join(path, "hosts"); len(b.Hosts) == 0 {
		s.Fault(at, s.Missing(at, "no names", "the names under which the servers are reached"), "")
	}
}

// checkAddress tells whether address is host:port on the loopback interface, and adds a fault if not.
func checkAddress(s *keys.Source, path, address string) bool {
	host, port, err := net.SplitHostPort(address)
	_, errPort := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || errPort != nil:
		const allowed = "host:port with a port from 0 to 65535, as in 127.0.0.1:9324"
		s.Fault(path, fmt.Sprintf("found %s, allowed is %s", keys.Quote(address), allowed), "")
	case !IsLoopback(host):
		const allowed = "an address of this machine alone: 127.0.0.1, [::1] or localhost"
		s.Fault(path, fmt.Sprintf("found %s, allowed is %s", keys.Quote(address), allowed),
			"to open it to other machines, state listen.beyond")
	default:
		return true
	}
	return false
}

// IsLoopback tells whether a host name or address is this machine's own.
func IsLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

func (q *Queue) rows() []keys.Key {
	return []keys.Key{
		keys.Text("name", &q.Name, "1 to 80 letters, digits, hyphens and underscores").Required().Check(CheckQueueName),
		keys.Duration("visibility", &q.Visibility,
			"how long a received message stays hidden: 0s to 12h, by default 30s").
			Default(30 * time.Second).Check(seconds(0, 12*time.Hour)),
		keys.Duration("delay", &q.Delay, "how long a new message stays hidden: 0s to 15m, by default 0s").
			Check(seconds(0, 15*time.Minute)),
		keys.Duration("retention", &q.Retention, "how long a message is kept: 1m to 336h, by default 96h").
			Default(4 * day).Check(seconds(time.Minute, 14*day)),
		keys.Into("dead_letter", &q.DeadLetter, (*DeadLetter).rows, "the destination of messages that were received "+
			"too often").
			Check(q.checkDeadLetter),
	}
}

func (d *DeadLetter) rows() []keys.Key {
	return []keys.Key{
		keys.Text("queue", &d.Queue, "another queue").Required(),
		keys.Whole("after", &d.After, "how many receives a message gets: 1 to 1000").Required(),
	}
}

// checkDeadLetter checks the dead-letter queue of q by the rules of SQS: it is another queue, and FIFO like q or not.
func (q *Queue) checkDeadLetter(s *keys.Source, path string) {
	if !s.Has(path) {
		return
	}
	at := keys.Join(path, "queue")
	CheckQueueName(s, at, q.DeadLetter.Queue)
	keys.Within(s, keys.Join(path, "after"), q.DeadLetter.After, 1, 1000, strconv.Itoa)
	if strings.HasSuffix(q.DeadLetter.Queue, ".fifo") != strings.HasSuffix(q.Name, ".fifo") {
		s.Fault(at, fmt.Sprintf("found %s for %s, allowed is a queue of the same kind: FIFO or not",
			keys.Quote(q.DeadLetter.Queue), keys.Quote(q.Name)), "")
	}
	if q.DeadLetter.Queue == q.Name && q.Name != "" {
		s.Fault(at, fmt.Sprintf("found the queue %s itself, allowed is another queue", keys.Quote(q.Name)), "")
	}
}

// CheckQueueName adds a fault for a name that SQS does not allow for a queue.
func CheckQueueName(s *keys.Source, path, name string) {
	if found, allowed := WrongQueueName(name); allowed != "" {
		s.Fault(path, s.Missing(path, found, allowed), "")
	}
}

// WrongQueueName returns the two halves of a fault when SQS does not allow name for a queue; otherwise both are empty.
func WrongQueueName(name string) (found, allowed string) {
	if base := strings.TrimSuffix(name, ".fifo"); len(base) >= 1 && len(name) <= 80 && keys.Consists(base, "-_") {
		return "", ""
	}
	return keys.Quote(name), "a queue's name: 1 to 80 letters, digits, hyphens and underscores, with .fifo at the " +
		"end of a FIFO queue's"
}

// seconds returns a check of the range of a duration that SQS takes in whole seconds only.
func seconds(least, most time.Duration) func(*keys.Source, string, time.Duration) {
	return func(s *keys.Source, path string, v time.Duration) {
		if keys.Within(s, path, v, least, most, keys.Span) && v%time.Second != 0 {
			s.Fault(path, fmt.Sprintf("found %s, allowed are whole seconds", keys.Span(v)), "")
		}
	}
}

// unique maps a name to the path where it was stated first.
type unique map[string]string

// check adds a fault when the name was stated before. The words are a format for the name and the line of its first
// place.
func (u unique) check(s *keys.Source, name, path, words string) {
	if name == "" {
		return
	}
	if first, ok := u[name]; ok {
		s.Fault(path, "found "+keys.Quote(name)+", allowed is "+fmt.Sprintf(words, name, s.Line(first)), "")
		return
	}
	u[name] = path
}

// checkQueues requires that embedded queues have different names.
func (c *Config) checkQueues(s *keys.Source, path string) {
	names := unique{}
	for i, q := range c.Queues {
		names.check(s, q.Name, keys.Element(path, i)+".name", "another name: queue %q is stated on line %d")
	}
}

// settleFleets fills in the settings of fleets that depend on several keys, such as those of embedded queues.
func (c *Config) settleFleets(s *keys.Source, path string) {
	for i := range c.Fleets {
		f := &c.Fleets[i]
		f.settle(s, keys.Element(path, i))
		c.setDeadLetter(f, &f.Workers)
		for j := range f.Split {
			c.setDeadLetter(f, &f.Split[j].Workers)
		}
	}
}

// checkFleets checks every fleet, and that no two have the same name, serve the same queue or set the same number. Two
// controllers on one queue would each count all of its messages.
func (c *Config) checkFleets(s *keys.Source, path string, kinds Kinds) {
	names, queues := unique{}, unique{}
	for i := range c.Fleets {
		f, path := &c.Fleets[i], keys.Element(path, i)
		f.check(s, path, kinds)
		names.check(s, f.Name, path+".name", "another name: fleet %q is stated on line %d")
		for j, q := range f.Queues {
			queues.check(s, cmp.Or(q.URL, q.Name), f.queuePath(s, path, j),
				"another queue: %q is served on line %d already; two kinds of workers on one queue are one fleet "+
					"with split:")
		}
	}
	c.checkSizers(s)
	c.checkShared(s)
}

// checkSizers finds two fleets that would both set one number. Fleets in shadow mode set none, so any number of them
// may name it.
func (c *Config) checkSizers(s *keys.Source) {
	stated := map[Sized]string{}
	for i, f := range c.Fleets {
		number := f.Sets()
		if number.Name == "" || f.Policy.Shadow {
			continue
		}
		path := keys.Join(keys.Element("fleets", i), number.Key)
		name := f.Facts().Sized.Name
		number.Key = ""
		if first, ok := stated[number]; ok {
			message := fmt.Sprintf("found the %s %s, allowed is another: it is sized by the fleet on line %d already, "+
				"and two fleets that set one number undo each other", number.What, keys.Quote(name), s.Line(first))
			s.Fault(path, message, "a fleet that serves several queues has queues: [...]; one that only records has "+
				"shadow: true")
			continue
		}
		stated[number] = path
	}
}
