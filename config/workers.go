package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/policy"
)

// This file declares and checks what a worker runs for a message, and the terms of that work. placement.go has the keys
// that concern the worker's machine. Workers on other machines take the same settings as flags of muster work: only
// slots and boot of them may stand in the configuration, because Muster counts with both.

const (
	maxSlots    = 1000
	maxBatch    = 10
	maxAttempts = 1000
	// maxValue bounds the value of an environment variable, in bytes.
	maxValue = 32 << 10
	// maxValues bounds all of them together, in bytes: a worker gets them in one variable, and Linux limits a variable
	// to 128 KiB.
	maxValues = 96 << 10
	// maxAttribute bounds the name of a message attribute, as SQS does.
	maxAttribute = 256
)

// Keys declare the keys of workers without their defaults, for programs that take them as flags or pass them to another
// process. The flags for queues are declared elsewhere.
func (w *Workers) Keys() []keys.Key {
	return w.rows(func() Workers { return *w }, nil)
}

// rows declare the keys of workers. A key that is not stated has its value in otherwise: for a fleet the defaults, for
// a part the workers of its fleet.
func (w *Workers) rows(otherwise func() Workers, queues []QueueKind) []keys.Key {
	return append(w.executionRows(otherwise, queues), w.placementRows()...)
}

// executionRows declare what a worker runs, and the terms of its work.
func (w *Workers) executionRows(otherwise func() Workers, queues []QueueKind) []keys.Key {
	command := func(d *keys.Decoder, n *yaml.Node, path string) { w.HTTP, w.Command = "", decodeCommand(d, n, path) }
	// Command and URL exclude each other. So a part that states a URL drops the fleet's command, and a part that states
	// a command drops the fleet's URL.
	http := func(d *keys.Decoder, n *yaml.Node, path string) {
		if !d.Has(parent(path) + ".command") {
			w.Command = nil
		}
		if !d.Has(parent(path) + ".json_lines") {
			w.JSONLines = false
		}
		w.HTTP = d.Text(n, path)
	}
	return []keys.Key{
		keys.Custom("command", keys.CommandForm, "the program and its arguments, run for each message; there is no "+
			"shell", command).Option(func() any { return listed(w.Command) }, nil),
		keys.Truth("json_lines", &w.JSONLines, "run the command once for each slot, and speak lines of JSON with it "+
			"(docs/worker-protocol.md); false by default"),
		keys.Custom("http", keys.TextForm, "an http URL on this machine to POST each message to, in place of a command",
			http).
			Option(func() any { return stated(w.HTTP) }, func(text string) error {
				w.HTTP = text
				return nil
			}),
		keys.Whole("slots", &w.Slots, "calls a worker makes at once, each with a message or a batch: 1 to 1000, by "+
			"default 1").
			DefaultOf(func() int { return otherwise().Slots }).Within(1, maxSlots),
		keys.Whole("batch", &w.Batch, "with json_lines or http, messages that a call brings at most: 1 to 10, by "+
			"default 1").
			DefaultOf(func() int { return otherwise().Batch }).Within(1, maxBatch),
		keys.Whole("max_attempts", &w.MaxAttempts, "failed attempts after which a message goes to dead_letter: 1 to "+
			"1000; 0, the default, leaves that to the queue").Within(0, maxAttempts),
		keys.Custom("dead_letter", keys.TextForm, "with max_attempts, the name of an embedded queue or the URL of "+
			"one on SQS; by default the dead_letter of the fleet's embedded queue", func(d *keys.Decoder, n *yaml.Node,
			path string) {
			w.DeadLetter = refer(d, n, path, queues)
		}),
		keys.Text("class_attribute", &w.ClassAttribute, "the message attribute whose text is a message's class, for "+
			"durations by class").May(fmt.Sprintf("the name of a message attribute: 1 to %d letters, digits, "+
			"hyphens, underscores and dots", maxAttribute), isAttribute),
		keys.Duration("boot", &w.Boot, "the expected boot time, used until boots were measured; by default 1s").
			DefaultOf(func() time.Duration { return otherwise().Boot }).Within(0, day),
		keys.Duration("idle", &w.Idle, "how long a worker gets no message before it is ready to stop; 0s is never; "+
			"by default 30s with exact, else "+
			"never").DefaultOf(func() time.Duration { return otherwise().Idle }).Within(0, day),
		keys.Duration("visibility", &w.Visibility, "the visibility timeout of a received message, which the worker "+
			"extends while it works: 2s to 12h, by default "+
			"30s").DefaultOf(func() time.Duration { return otherwise().Visibility }).
			Check(seconds(2*time.Second, 12*time.Hour)),
		keys.Duration("time_limit", &w.TimeLimit, "how long a message may take before its work is stopped and the "+
			"attempt has failed; 0s is no limit").Within(0, 12*time.Hour),
		keys.Duration("grace", &w.Grace, "how long an operator's stop waits for messages in progress; 0s is as long "+
			"as they take").Within(0, day),
		keys.Duration("retry", &w.Retry, "how long a message waits for its retry after the first failure, doubled "+
			"each time: 1s to 20m, by default 30s").Stated(time.Second, 20*time.Minute),
		keys.Duration("start_limit", &w.StartLimit, "with json_lines, how long the command may take to say that it "+
			"is ready: 1s to 1h, by default 1m").Stated(time.Second, time.Hour),
		keys.Texts("env", &w.Env, maxVariables, "environment variables of the command: NAME passes on a variable of "+
			"muster up, NAME=VALUE sets one"),
		keys.Text("log", &w.Log, "the lowest level that workers write to the fleet's log, which always has the "+
			"output of jobs; by default warn").OneOf("debug", "info", "warn", "error"),
		keys.Duration("warm_up", &w.WarmUp, "a delay before the first receive, to try slow boots").Within(0, time.Hour),
	}
}

// listed and stated return a value as [keys.Written] writes it, and nil for an absent one, which is then left out.
func listed(all []string) any {
	if len(all) == 0 {
		return nil
	}
	return all
}

func stated(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// decodeCommand decodes a list of the program and its arguments, or a text that is the program alone. An argument that
// YAML would take for a number or a truth value is kept as it is written: 010 stays 010.
func decodeCommand(d *keys.Decoder, n *yaml.Node, path string) (command []string) {
	if n.Kind == yaml.ScalarNode {
		return []string{d.Text(n, path)}
	}
	d.Each(n, path, maxArguments, func(n *yaml.Node, path string) { command = append(command, d.Argument(n, path)) })
	return command
}

// isAttribute tells whether SQS allows name for a message attribute.
func isAttribute(name string) bool {
	return name != "" && len(name) <= maxAttribute && keys.Consists(name, "-_.")
}

// setDeadLetter completes workers with max_attempts and without dead_letter: they use the dead-letter queue of the one
// embedded queue that they serve, if it has one.
func (c *Config) setDeadLetter(f *Fleet, w *Workers) {
	if w.MaxAttempts == 0 || w.DeadLetter != (QueueRef{}) || len(f.Queues) != 1 {
		return
	}
	for _, q := range c.Queues {
		if f.Queues[0].Own() && q.Name == f.Queues[0].Name && q.DeadLetter.Queue != "" {
			w.DeadLetter = QueueRef{Name: q.DeadLetter.Queue}
		}
	}
}

// remarkStart adds a remark to a fleet whose policy depends on processing durations that are unknown at first. The
// fleet begins with few workers, and without a time limit a message that hangs occupies its worker forever. When the
// workers do not report, durations stay unknown forever, unless a signal measures them. Workers on other machines state
// their time limit there, so nothing is known about it here.
func (f *Fleet) remarkStart(s *keys.Source, path string) {
	p := &f.Policy
	if !p.LearnsDurations() || p.Processing > 0 {
		return
	}
	measured := slices.ContainsFunc(f.Signals, func(g Signal) bool {
		return slices.Contains(g.Measures(),
			"processing")
	})
	if !f.Facts().Reported && p.Acceptable == 0 && !measured {
		finds := "stays small however many messages wait"
		if p.Name == policy.Default {
			finds = "finds its size by doubling, which is late and costs more"
		}
		s.Fault(path+".name", "found no policy.processing for workers that do not report: how long messages take is "+
			"never known, so the fleet "+finds, "state how long they take on average, as in processing: 30s")
		return
	}
	if f.Workers.TimeLimit > 0 || !f.Local() {
		return
	}
	s.Fault(path+".name", "found neither policy.processing nor workers.time_limit: until messages have ended it is "+
		"not known how long they take, so a first start begins with few workers, and a message that hangs holds its "+
		"worker for good",
		"state how long they take on average, as in processing: 30s, or at most, as in time_limit: 10m")
}

// remarkAttempts adds a remark where an embedded queue moves messages to its dead-letter queue before the worker has
// used up their attempts.
func (c *Config) remarkAttempts(s *keys.Source) {
	for i := range c.Fleets {
		f, path := &c.Fleets[i], fmt.Sprintf("fleets[%d]", i)
		f.remarkAttempts(c, s, path+".workers", f.Workers)
		for j := range f.Split {
			if at := fmt.Sprintf("%s.split[%d].workers", path, j); s.Has(at + ".max_attempts") {
				f.remarkAttempts(c, s, at, f.Split[j].Workers)
			}
		}
	}
}

// remarkAttempts compares max_attempts of the workers at path with dead_letter.after of each embedded queue. Receives
// are at least as many as attempts, because an interrupted attempt does not count and its receive does.
func (f *Fleet) remarkAttempts(c *Config, s *keys.Source, path string, w Workers) {
	for _, ref := range f.Queues {
		i := slices.IndexFunc(c.Queues, func(q Queue) bool { return ref.Own() && q.Name == ref.Name })
		if w.MaxAttempts == 0 || i < 0 || c.Queues[i].DeadLetter.Queue == "" {
			continue
		}
		const larger = "; let after be larger, because it also counts receives whose attempt is given back"
		switch after := c.Queues[i].DeadLetter.After; {
		case after < w.MaxAttempts:
			s.Fault(path+".max_attempts",
				fmt.Sprintf("the queue %s moves a message to %s after %d receives (queues[%d].dead_letter.after), so "+
					"attempt %d of %d never comes%s",
					ref.Name, c.Queues[i].DeadLetter.Queue, after, i, after+1, w.MaxAttempts, larger), "")
		case after == w.MaxAttempts:
			s.Fault(path+".max_attempts",
				fmt.Sprintf("the queue %s moves a message to %s after %d receives (queues[%d].dead_letter.after), so "+
					"one that was interrupted loses its last attempt%s",
					ref.Name, c.Queues[i].DeadLetter.Queue, after, i, larger), "")
		}
	}
}

// CheckWorkers checks the workers of a fleet of local processes at path, or those of each of its parts. The kind of
// such a fleet calls it.
func (f *Fleet) CheckWorkers(s *keys.Source, path string) {
	if !s.Has(path + ".split") {
		f.checkWorkers(s, path, &f.Workers)
		return
	}
	if n := len(f.Split); n < 2 && !s.Bad(path+".split") {
		s.Fault(path+".split", fmt.Sprintf("found %d parts, allowed are 2 to %d", n, maxServed), "")
	}
	names := unique{}
	for i := range f.Split {
		p, at := &f.Split[i], keys.Element(path+".split", i)
		if len(p.Name) < 1 || len(p.Name) > 63 || !keys.Consists(p.Name, "-_") {
			const allowed = "a part's name: 1 to 63 letters, digits, hyphens and underscores"
			s.Fault(at+".name", s.Missing(at+".name", keys.Quote(p.Name), allowed), "")
		}
		names.check(s, p.Name, at+".name", "another name: part %q is stated on line %d")
		keys.Within(s, at+".base", p.Base, 0, maxWorkers, strconv.Itoa)
		keys.Within(s, at+".max", p.Max, 0, maxWorkers, strconv.Itoa)
		if keys.Within(s, at+".weight", p.Weight, 0, 1000, strconv.Itoa) && p.Weight == 0 && p.Base == 0 {
			s.Fault(at, "found neither base nor weight, allowed is one of them above 0: the part would never get a "+
				"worker", "")
		}
		f.checkWorkers(s, at, &p.Workers)
	}
}

// CheckElsewhere refuses the keys that only local processes have, in a fleet whose members start their workers
// themselves. The kind is stated at the path at. The texts where and they complete the message, as in "in an Auto
// Scaling group" and "its instances".
func (f *Fleet) CheckElsewhere(s *keys.Source, at, where, they string) {
	path := parent(at)
	if s.Has(path + ".split") {
		s.Fault(path+".split", "found split and "+keys.Last(at)+", allowed is one of them",
			"a group mixes kinds of instances, and a service kinds of capacity, by its own policy")
	}
	path += ".workers"
	for _, name := range keys.Names(f.Workers.rows(f.workersByDefault, nil)) {
		if key := keys.Join(path, name); s.Has(key) && name != "slots" && name != "boot" {
			s.Fault(key, fmt.Sprintf("found %s for a fleet %s, allowed are slots and boot", name, where),
				they+" start their workers themselves: put it into their muster work command")
		}
	}
	keys.Within(s, path+".slots", f.Workers.Slots, 1, maxSlots, strconv.Itoa)
	keys.Within(s, path+".boot", f.Workers.Boot, 0, day, keys.Span)
}

// checkWorkers checks the workers that are stated below path: those of the fleet, or of one of its parts.
func (f *Fleet) checkWorkers(s *keys.Source, path string, w *Workers) {
	path += ".workers"
	keys.Check(s, path, w.rows(f.workersByDefault, nil))
	w.checkExecution(s, path, f.Policy.Shadow)
	f.checkUseless(s, path, w)
	f.checkDeadLetter(s, path, w)
	f.checkPlacement(s, path, w)
	if at := path + ".http"; s.Has(at) && len(f.Queues) == 0 {
		s.Fault(at, "found a URL to send messages to in a fleet without a queue, allowed is a command, which takes "+
			"its work from elsewhere", "")
	}
	if at := path + ".start_limit"; s.Has(at) && !w.JSONLines {
		s.Fault(at, "found start_limit for workers without json_lines, allowed is it with json_lines: true", "")
	}
	w.checkEnv(s, path)
}

// checkEnv checks the variables of the command. Variables that begin with MUSTER_ describe the message to the command,
// so they cannot be set. The sizes keep an exec call below the limits of the system.
func (w Workers) checkEnv(s *keys.Source, path string) {
	names, all := unique{}, 0
	for i, variable := range w.Env {
		if all += len(variable); all > maxValues {
			s.Fault(path+".env", fmt.Sprintf("found variables of more than %d bytes together, allowed are at most that",
				maxValues), "")
			return
		}
		at := fmt.Sprintf("%s.env[%d]", path, i)
		name, value, set := strings.Cut(variable, "=")
		switch {
		case !keys.IsVariable(name):
			s.Fault(at, fmt.Sprintf("found %s, allowed is the name of an environment variable, or NAME=VALUE",
				keys.Quote(variable)), "")
		case set && strings.HasPrefix(name, "MUSTER_"):
			s.Fault(at, fmt.Sprintf("found a value for %s, allowed are values for variables of other names: Muster "+
				"sets those that begin with MUSTER_", name), "")
		case len(value) > maxValue || strings.ContainsRune(value, 0):
			s.Fault(at, fmt.Sprintf("found a value of %d bytes for %s, allowed are at most %d without a NUL character",
				len(value), name, maxValue), "")
		}
		names.check(s, name, at, "another variable: %q is stated on line %d")
	}
}

// checkExecution checks that exactly one of command and http is stated, and the batch. A fleet in shadow mode starts no
// workers, so it needs neither.
func (w Workers) checkExecution(s *keys.Source, path string, shadow bool) {
	switch {
	case s.Has(path+".command") && s.Has(path+".http"):
		s.Fault(path+".http", "found a command and http, allowed is one of them", "")
	case w.HTTP != "" && w.JSONLines:
		s.Fault(path+".json_lines", "found json_lines and http, allowed is one of them", "")
	case w.HTTP != "" || s.Has(path+".http"):
		checkEndpoint(s, path+".http", w.HTTP)
	case shadow && !s.Has(path+".command"):
	default:
		w.checkCommand(s, path)
	}
	if w.Batch <= 1 || w.Batch > maxBatch {
		return
	}
	if !w.JSONLines && w.HTTP == "" {
		s.Fault(path+".batch", fmt.Sprintf("found a batch of %d for a command that is run for each message, allowed "+
			"is 1", w.Batch),
			"batches need json_lines: true or http")
	} else if w.Slots <= maxSlots && w.AtOnce() > maxSlots {
		s.Fault(path+".batch", fmt.Sprintf("found %d slots of %d messages each, allowed are at most %d messages "+
			"at once", w.Slots, w.Batch, maxSlots), "")
	}
}

// checkCommand requires a program. A NUL character cannot be passed to a process.
func (w Workers) checkCommand(s *keys.Source, path string) {
	program := "a program with its arguments, as in [./resize.sh, --fast]"
	if len(w.Command) == 0 {
		s.Fault(path+".command", s.Missing(path+".command", "no program", program+", or http with a URL"), "")
	} else if w.Command[0] == "" {
		s.Fault(path+".command[0]", "found no program, allowed is "+program, "")
	}
	for i, argument := range w.Command {
		if strings.ContainsRune(argument, 0) {
			s.Fault(fmt.Sprintf("%s.command[%d]", path, i), "found a NUL character, allowed is text without", "")
		}
	}
}

// checkEndpoint checks the URL by the same rules as package worker/execution: http on this machine, because messages go
// there unencrypted.
func checkEndpoint(s *keys.Source, path, address string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "":
		s.Fault(path, fmt.Sprintf("found %s, allowed is an http URL on this machine, as in http://127.0.0.1:8080/work",
			keys.Quote(address)), "")
	case !IsLoopback(u.Hostname()):
		s.Fault(path, fmt.Sprintf("found the host %s, allowed is this machine alone: 127.0.0.1, [::1] or localhost",
			keys.Quote(u.Hostname())),
			"messages go there unencrypted; for another machine, run muster work there")
	}
}

// checkDeadLetter checks the destination of messages whose attempts are used up. It must exist with max_attempts and
// not without, be none of the served queues, and be of their kind: embedded or on SQS, FIFO or not.
func (f *Fleet) checkDeadLetter(s *keys.Source, path string, w *Workers) {
	if w.MaxAttempts < 0 || w.MaxAttempts > maxAttempts {
		return
	}
	stated, dead := s.Has(path+".dead_letter"), &w.DeadLetter
	at := path + ".dead_letter"
	switch {
	case w.MaxAttempts == 0 && stated:
		s.Fault(at, "found dead_letter without max_attempts, allowed are both or neither",
			"say after how many failed attempts, as in max_attempts: 5")
		return
	case w.MaxAttempts == 0:
		return
	case len(f.Queues) == 0:
		s.Fault(path+".max_attempts", "found attempts to count in a fleet without a queue, allowed is 0", "")
		return
	case *dead == QueueRef{}:
		s.Fault(path+".max_attempts", "found max_attempts without a destination for messages that used them up, "+
			"allowed is one in dead_letter: the name of an embedded queue, or a URL", "")
		return
	}
	for _, q := range f.Queues {
		if q == *dead || q.URL != "" && q.URL == dead.URL {
			s.Fault(at, fmt.Sprintf("found %s, which the fleet serves, allowed is another queue", keys.Quote(q.Name)),
				"")
		}
	}
	if dead.Own() != f.Queues[0].Own() {
		s.Fault(at, "found an embedded queue and one on SQS, allowed are queues of one kind",
			"a worker has keys for one of them")
	}
	if fifo := strings.HasSuffix(dead.Name, ".fifo"); fifo != strings.HasSuffix(f.Queues[0].Name, ".fifo") &&
		dead.Name != "" {
		s.Fault(at, fmt.Sprintf("found %s for %s, allowed is a queue of the same kind: FIFO or not",
			keys.Quote(dead.Name), keys.Quote(f.Queues[0].Name)), "")
	}
}

// AGroup says what [IsGroup] allows: the name of an Auto Scaling group.
const AGroup = "the name of an Auto Scaling group, 1 to 255 characters"

// IsGroup tells whether a text can be the name of an Auto Scaling group.
func IsGroup(name string) bool { return len(name) >= 1 && len(name) <= maxName }

// The values of the key reports of fleets elsewhere.
const (
	// ReportsRequired means that workers report to the controller, ReportsNone that they do not.
	ReportsRequired = "required"
	ReportsNone     = "none"
)

// ReportsKey declares the key reports of a fleet on AWS. Its workers may do without reports when they protect their
// member while they are busy; protected is the noun for that, as in "instance".
func ReportsKey(into *string, protected string) keys.Key {
	return keys.Text("reports", into, "whether the workers report to the controller: required (the default), or none "+
		"for workers of your own that protect their "+protected+" while they are "+
		"busy").Default(ReportsRequired).OneOf(ReportsRequired, ReportsNone)
}

// CheckReports refuses reports: none, stated at path, for a policy whose fleets shrink only by reports of idle workers.
func (f *Fleet) CheckReports(s *keys.Source, path, reports string) {
	if reports == ReportsNone && f.Policy.FallsByReports() {
		s.Fault(path, "found none with the policy exact, allowed is required: its fleets shrink when workers report "+
			"that they are idle",
			"deadline, the default, needs no reports")
	}
}
