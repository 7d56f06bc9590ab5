package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster"
)

// maxWorkers bounds the size of a fleet.
const maxWorkers = 10_000

const (
	day         = 24 * time.Hour
	maxLatency  = 14 * day
	maxLaunches = 1_000_000
)

func (c *Config) validate(s *source) {
	if c.Data == "" || len(c.Data) > 1024 || strings.ContainsRune(c.Data, 0) {
		s.fault("data", fmt.Sprintf("found %s, allowed is the path of a directory", quote(c.Data)), "")
	}
	c.Listen.validate(s)
	c.AWS.validate(s, "aws")
	names := unique{}
	for i, q := range c.Queues {
		path := fmt.Sprintf("queues[%d]", i)
		q.validate(s, path)
		names.check(s, q.Name, path+".name", "another name: queue %q is stated on line %d")
	}
	names, queues := unique{}, unique{}
	for i := range c.Fleets {
		f, path := &c.Fleets[i], fmt.Sprintf("fleets[%d]", i)
		f.validate(s, path)
		names.check(s, f.Name, path+".name", "another name: fleet %q is stated on line %d")
		for j, q := range f.Queues {
			queues.check(s, cmp.Or(q.URL, q.Name), f.queuePath(s, path, j),
				"another queue: %q is served on line %d already; two kinds of workers on one queue are one fleet with split:")
		}
	}
	c.checkSizers(s)
}

// unique remembers where names were stated first.
type unique map[string]string

// check adds a fault when the name was stated before. The words have a place for it and for the line.
func (u unique) check(s *source, name, path, words string) {
	if name == "" {
		return
	}
	if first, ok := u[name]; ok {
		s.fault(path, "found "+quote(name)+", allowed is "+fmt.Sprintf(words, name, s.places[first].line), "")
		return
	}
	u[name] = path
}

func (l Listen) validate(s *source) {
	l.Beyond.validate(s, "listen.beyond")
	queue := checkAddress(s, "listen.queue", l.Queue)
	api := checkAddress(s, "listen.api", l.API)
	if queue && api && l.Queue == l.API && !strings.HasSuffix(l.API, ":0") {
		s.fault("listen.api", fmt.Sprintf("found %s, allowed is another address than that of the queues", quote(l.API)), "")
	}
}

// validate checks what opens the servers to other machines. It must be stated: an address alone opens nothing.
func (b Beyond) validate(s *source, path string) {
	if !s.has(path) {
		return
	}
	for _, at := range [][2]string{{"queue", b.Queue}, {"api", b.API}} {
		key, address := at[0], at[1]
		_, port, err := net.SplitHostPort(address)
		_, errPort := strconv.ParseUint(port, 10, 16)
		if s.has(path+"."+key) && (err != nil || errPort != nil) {
			s.fault(path+"."+key, fmt.Sprintf("found %s, allowed is host:port, as in 0.0.0.0:9334", quote(address)), "")
		}
	}
	if b.Queue == "" && b.API == "" {
		s.fault(path, "found no address, allowed is queue, api or both", "")
	}
	for _, file := range [][2]string{{"cert", b.Cert}, {"key", b.Key}} {
		if key := file[0]; file[1] == "" {
			s.fault(path+"."+key, s.missing(path+"."+key, "no file", "a file in PEM: without TLS keys and messages would cross the network in the clear"), "")
		}
	}
	if len(b.Hosts) == 0 {
		s.fault(path+".hosts", s.missing(path+".hosts", "no names", "the names under which the servers are reached"), "")
	}
}

// checkAddress tells whether address is one of the loopback interface.
func checkAddress(s *source, path, address string) bool {
	host, port, err := net.SplitHostPort(address)
	_, errPort := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || errPort != nil:
		s.fault(path, fmt.Sprintf("found %s, allowed is host:port with a port from 0 to 65535, as in 127.0.0.1:9324", quote(address)), "")
	case !isLoopback(host):
		s.fault(path, fmt.Sprintf("found %s, allowed is an address of this machine alone: 127.0.0.1, [::1] or localhost", quote(address)),
			"to open it to other machines, state listen.beyond")
	default:
		return true
	}
	return false
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

func (q Queue) validate(s *source, path string) {
	checkQueueName(s, path+".name", q.Name)
	s.seconds(path+".visibility", q.Visibility, 0, 12*time.Hour)
	s.seconds(path+".delay", q.Delay, 0, 15*time.Minute)
	s.seconds(path+".retention", q.Retention, time.Minute, 14*day)
	dead := path + ".dead_letter"
	if !s.has(dead) {
		return
	}
	checkQueueName(s, dead+".queue", q.DeadLetter.Queue)
	within(s, dead+".after", q.DeadLetter.After, 1, 1000, strconv.Itoa)
	if strings.HasSuffix(q.DeadLetter.Queue, ".fifo") != strings.HasSuffix(q.Name, ".fifo") {
		s.fault(dead+".queue", fmt.Sprintf("found %s for %s, allowed is a queue of the same kind: FIFO or not", quote(q.DeadLetter.Queue), quote(q.Name)), "")
	}
	if q.DeadLetter.Queue == q.Name && q.Name != "" {
		s.fault(dead+".queue", fmt.Sprintf("found the queue %s itself, allowed is another queue", quote(q.Name)), "")
	}
}

// checkQueueName holds the name to the rules of SQS: that of a FIFO queue ends in .fifo.
func checkQueueName(s *source, path, name string) {
	if base := strings.TrimSuffix(name, ".fifo"); len(base) < 1 || len(name) > 80 || !consists(base, "-_") {
		s.fault(path, s.missing(path, quote(name), "a queue's name: 1 to 80 letters, digits, hyphens and underscores, with .fifo at the end of a FIFO queue's"), "")
	}
}

func (f *Fleet) validate(s *source, path string) {
	if len(f.Name) < 1 || len(f.Name) > 63 || !consists(f.Name, "-_.") || !consists(f.Name[:1], "") {
		s.fault(path+".name", s.missing(path+".name", quote(f.Name),
			"a fleet's name: 1 to 63 letters, digits, dots, hyphens and underscores, the first a letter or digit"), "")
	}
	if s.has(path+".queue") && s.has(path+".queues") {
		s.fault(path+".queues", "found queue and queues, allowed is one of them", "")
	}
	for i := range f.Queues {
		f.Queues[i].validate(s, f.queuePath(s, path, i))
		if (f.Queues[i].URL == "") != (f.Queues[0].URL == "") {
			s.fault(f.queuePath(s, path, i), "found embedded queues and queues on SQS in one fleet, allowed are those of one kind", "a worker has keys for one of them")
		}
	}
	within(s, path+".objective.latency", f.Objective.Latency, time.Millisecond, maxLatency, span)
	if q := f.Objective.Quantile; !(q > 0 && q <= 1) {
		s.fault(path+".objective.quantile", fmt.Sprintf("found %s, allowed is a share above 0 and at most 1, as in 0.99", muster.Number(q)), "")
	}
	within(s, path+".objective.late", f.Objective.Late, 0, maxLatency, span)
	f.validateLimits(s, path)
	within(s, path+".poll", f.Poll, 100*time.Millisecond, time.Hour, span)
	f.validatePolicy(s, path)
	if f.Metrics != nil {
		f.validateMetrics(s, path)
	}
	f.validateDelegate(s, path)
	f.validateReportsFrom(s, path)
	if f.ECS != nil {
		f.validateECS(s, path)
		return
	}
	if f.ASG != nil {
		f.validateASG(s, path)
		return
	}
	f.validateSplit(s, path)
}

func (f *Fleet) validateLimits(s *source, path string) {
	if !s.has(path + ".max") {
		s.fault(path+".max", s.missing(path+".max", "", "the largest number of workers, 0 to 10000"), "")
	}
	minimum := within(s, path+".min", f.Limits.Min, 0, maxWorkers, strconv.Itoa)
	maximum := within(s, path+".max", f.Limits.Max, 0, maxWorkers, strconv.Itoa)
	if minimum && maximum && s.has(path+".max") && !s.bad[path+".max"] && f.Limits.Min > f.Limits.Max {
		s.fault(path+".min", fmt.Sprintf("found min %d above max %d, allowed is at most max", f.Limits.Min, f.Limits.Max), "")
	}
	within(s, path+".launches_per_hour", f.Limits.LaunchesPerHour, 1, maxLaunches, strconv.Itoa)
}

// queuePath is where the i-th queue is stated.
func (f *Fleet) queuePath(s *source, path string, i int) string {
	if s.has(path + ".queue") {
		if i == 0 {
			return path + ".queue"
		}
		i--
	}
	return fmt.Sprintf("%s.queues[%d]", path, i)
}

// validate checks the name of an embedded queue or the URL of one on SQS, whose name it fills in.
func (q *QueueRef) validate(s *source, path string) {
	if q.URL == "" {
		checkQueueName(s, path, q.Name)
		return
	}
	u, err := url.Parse(q.URL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		s.fault(path, fmt.Sprintf("found %s, allowed is a queue's name or URL, as in https://sqs.eu-west-1.amazonaws.com/123456789012/thumbnails", quote(q.URL)), "")
		return
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		s.fault(path, fmt.Sprintf("found %s, allowed is https, or http to this machine", quote(q.URL)), "")
		return
	}
	q.Name = u.Path[strings.LastIndexByte(u.Path, '/')+1:]
	checkQueueName(s, path, q.Name)
}

// validateSplit checks the parts of a fleet.
func (f *Fleet) validateSplit(s *source, path string) {
	if !s.has(path + ".split") {
		f.validateWorkers(s, path, &f.Workers)
		return
	}
	if n := len(f.Split); n < 2 && !s.bad[path+".split"] {
		s.fault(path+".split", fmt.Sprintf("found %d parts, allowed are 2 to %d", n, maxServed), "")
	}
	names := unique{}
	for i, p := range f.Split {
		at := fmt.Sprintf("%s.split[%d]", path, i)
		if len(p.Name) < 1 || len(p.Name) > 63 || !consists(p.Name, "-_") {
			s.fault(at+".name", s.missing(at+".name", quote(p.Name), "a part's name: 1 to 63 letters, digits, hyphens and underscores"), "")
		}
		names.check(s, p.Name, at+".name", "another name: part %q is stated on line %d")
		within(s, at+".base", p.Base, 0, maxWorkers, strconv.Itoa)
		within(s, at+".max", p.Max, 0, maxWorkers, strconv.Itoa)
		if within(s, at+".weight", p.Weight, 0, 1000, strconv.Itoa) && p.Weight == 0 && p.Base == 0 {
			s.fault(at, "found neither base nor weight, allowed is one of them above 0: the part would never get a worker", "")
		}
		f.validateWorkers(s, at, &f.Split[i].Workers)
	}
}

// within tells whether least <= v <= most, and adds a fault if not.
func within[T cmp.Ordered](s *source, path string, v, least, most T, render func(T) string) bool {
	if v >= least && v <= most {
		return true
	}
	s.fault(path, s.missing(path, render(v), render(least)+" to "+render(most)), "")
	return false
}

// seconds checks the range of a duration that SQS knows in whole seconds only.
func (s *source) seconds(path string, v, least, most time.Duration) {
	if within(s, path, v, least, most, span) && v%time.Second != 0 {
		s.fault(path, fmt.Sprintf("found %s, allowed are whole seconds", span(v)), "")
	}
}

// span renders a duration without units of zero: 12h, not 12h0m0s.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
