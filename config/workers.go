package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

const (
	maxSlots    = 1000
	maxBatch    = 10
	maxAttempts = 1000
	// maxValue bounds the value of an environment variable, in bytes.
	maxValue = 32 << 10
	// maxAttribute bounds the name of a message attribute, as SQS does.
	maxAttribute = 256
)

// workers decodes what a worker is; what it does not state is as in w.
func (m mapping) workers(w Workers) Workers {
	sub := m.sub("workers", names(workerKeys())...)
	// What does the work is stated as a whole: a part with a URL has nothing of the fleet's command, and the other way round.
	if sub.states("http") {
		w.Command, w.JSONLines = nil, false
	}
	if sub.states("command") {
		w.HTTP = ""
	}
	sub.command(&w.Command)
	sub.truth("json_lines", &w.JSONLines)
	sub.text("http", &w.HTTP)
	sub.whole("slots", &w.Slots)
	sub.whole("batch", &w.Batch)
	sub.whole("max_attempts", &w.MaxAttempts)
	if n, ok := sub.values["dead_letter"]; ok {
		w.DeadLetter = m.queueRef(n, join(sub.path, "dead_letter"))
	}
	sub.text("class_attribute", &w.ClassAttribute)
	sub.duration("boot", &w.Boot)
	sub.duration("idle", &w.Idle)
	sub.duration("visibility", &w.Visibility)
	sub.duration("time_limit", &w.TimeLimit)
	sub.duration("grace", &w.Grace)
	if sub.states("env") {
		w.Env = nil
	}
	sub.each("env", maxVariables, func(n *yaml.Node, path string) { w.Env = append(w.Env, m.decoder.text(n, path)) })
	sub.duration("retry", &w.Retry)
	sub.duration("start_limit", &w.StartLimit)
	sub.text("log", &w.Log)
	sub.duration("warm_up", &w.WarmUp)
	sub.surroundings(&w)
	return w
}

// states tells whether the mapping has the key.
func (m mapping) states(key string) bool {
	_, ok := m.values[key]
	return ok
}

// command decodes a list of the program and its arguments, or a text that is the program alone. An argument may look like
// a number: it is taken as it is written.
func (m mapping) command(into *[]string) {
	n, ok := m.values["command"]
	if !ok {
		return
	}
	*into = nil
	if n.Kind == yaml.ScalarNode {
		*into = []string{m.decoder.text(n, join(m.path, "command"))}
		return
	}
	m.each("command", maxArguments, func(n *yaml.Node, path string) {
		argument := ""
		if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
			argument = m.expanded(n, path)
		} else {
			m.wrong(n, path, "text", "")
		}
		*into = append(*into, argument)
	})
}

// setDefaults takes from w what the workers stated at path do not state themselves.
func (o *Workers) setDefaults(s *source, path string, w Workers) {
	otherwise(s, path+".workers.slots", &o.Slots, w.Slots)
	otherwise(s, path+".workers.batch", &o.Batch, w.Batch)
	otherwise(s, path+".workers.boot", &o.Boot, w.Boot)
	otherwise(s, path+".workers.visibility", &o.Visibility, w.Visibility)
	otherwise(s, path+".workers.idle", &o.Idle, w.Idle)
	if len(o.Report) > 0 && o.ReportEvery == 0 && !s.has(path+".workers.report_every") {
		o.ReportEvery = time.Minute
	}
}

// setDeadLetter gives workers that count attempts, and do not say where their dead letters go, the dead-letter queue of the
// one embedded queue they serve.
func (c *Config) setDeadLetter(f *Fleet, w *Workers) {
	if w.MaxAttempts == 0 || w.DeadLetter != (QueueRef{}) || len(f.Queues) != 1 || f.Queues[0].URL != "" {
		return
	}
	for _, q := range c.Queues {
		if q.Name == f.Queues[0].Name {
			w.DeadLetter.Name = q.DeadLetter.Queue
		}
	}
}

// remarkStart says where nothing tells how long a message takes until the first ones have ended: what is sized by that begins
// with few workers, and a message that hangs ends for nobody. Workers elsewhere have their time limit elsewhere.
func (f *Fleet) remarkStart(s *source, path string) {
	if !f.Policy.LearnsDurations() || f.Policy.Processing > 0 || f.Workers.TimeLimit > 0 || f.Away() {
		return
	}
	s.fault(path+".name", "found neither policy.processing nor workers.time_limit: until messages have ended it is not known how "+
		"long they take, so a first start begins with few workers, and a message that hangs holds its worker for good",
		"state how long they take on average, as in processing: 30s, or at most, as in time_limit: 10m")
}

// remarkAttempts says where a queue moves messages before their attempts are used up.
func (c *Config) remarkAttempts(s *source) {
	for i := range c.Fleets {
		f, path := &c.Fleets[i], fmt.Sprintf("fleets[%d]", i)
		f.remarkAttempts(c, s, path+".workers", f.Workers)
		for j := range f.Split {
			if at := fmt.Sprintf("%s.split[%d].workers", path, j); s.has(at + ".max_attempts") {
				f.remarkAttempts(c, s, at, f.Split[j].Workers)
			}
		}
	}
}

func (f *Fleet) remarkAttempts(c *Config, s *source, path string, w Workers) {
	for _, ref := range f.Queues {
		i := slices.IndexFunc(c.Queues, func(q Queue) bool { return ref.URL == "" && q.Name == ref.Name })
		if w.MaxAttempts == 0 || i < 0 || c.Queues[i].DeadLetter.Queue == "" {
			continue
		}
		const larger = "; let after be larger, because it also counts receives whose attempt is given back"
		switch after := c.Queues[i].DeadLetter.After; {
		case after < w.MaxAttempts:
			s.fault(path+".max_attempts", fmt.Sprintf("the queue %s moves a message to %s after %d receives (queues[%d].dead_letter.after), so attempt %d of %d never comes%s",
				ref.Name, c.Queues[i].DeadLetter.Queue, after, i, after+1, w.MaxAttempts, larger), "")
		case after == w.MaxAttempts:
			s.fault(path+".max_attempts", fmt.Sprintf("the queue %s moves a message to %s after %d receives (queues[%d].dead_letter.after), so one that was interrupted loses its last attempt%s",
				ref.Name, c.Queues[i].DeadLetter.Queue, after, i, larger), "")
		}
	}
}

// validateWorkers checks the workers of the fleet, or of a part of it, that are stated below path, and fills in the name of
// their dead-letter queue.
func (f *Fleet) validateWorkers(s *source, path string, w *Workers) {
	path += ".workers"
	w.validateMeans(s, path, f.Policy.Shadow)
	f.validateMeant(s, path, w)
	w.validateTimes(s, path)
	f.validateDeadLetter(s, path, w)
	f.validateSurroundings(s, path, w)
	if name := w.ClassAttribute; s.has(path+".class_attribute") && (name == "" || len(name) > maxAttribute || !consists(name, "-_.")) {
		s.fault(path+".class_attribute", fmt.Sprintf("found %s, allowed is the name of a message attribute: 1 to %d letters, digits, hyphens, underscores and dots",
			quote(name), maxAttribute), "")
	}
	if s.has(path+".http") && len(f.Queues) == 0 {
		s.fault(path+".http", "found a URL to send messages to in a fleet without a queue, allowed is a command, which takes its work from elsewhere", "")
	}
	w.validateEnv(s, path)
	if s.has(path+".log") && !slices.Contains(logLevels, w.Log) {
		s.fault(path+".log", fmt.Sprintf("found %s, allowed is debug, info, warn or error", quote(w.Log)), Suggest(w.Log, logLevels))
	}
}

// logLevels are the values of Workers.Log.
var logLevels = []string{"debug", "info", "warn", "error"}

// validateEnv checks the variables of the command. What Muster tells a command itself cannot be set.
func (w Workers) validateEnv(s *source, path string) {
	names := unique{}
	for i, variable := range w.Env {
		at := fmt.Sprintf("%s.env[%d]", path, i)
		name, value, set := strings.Cut(variable, "=")
		switch {
		case !isVariable(name):
			s.fault(at, fmt.Sprintf("found %s, allowed is the name of an environment variable, or NAME=VALUE", quote(variable)), "")
		case set && strings.HasPrefix(name, "MUSTER_"):
			s.fault(at, fmt.Sprintf("found a value for %s, allowed are values for variables of other names: Muster sets those that begin with MUSTER_", name), "")
		case len(value) > maxValue || strings.ContainsRune(value, 0):
			s.fault(at, fmt.Sprintf("found a value of %d bytes for %s, allowed are at most %d without a NUL character", len(value), name, maxValue), "")
		}
		names.check(s, name, at, "another variable: %q is stated on line %d")
	}
}

// validateMeans checks what does the work, and for how many messages at once. A fleet in shadow starts no workers, so it needs none.
func (w Workers) validateMeans(s *source, path string, shadow bool) {
	switch {
	case s.has(path+".command") && s.has(path+".http"):
		s.fault(path+".http", "found a command and http, allowed is one of them", "")
	case w.HTTP != "" && w.JSONLines:
		s.fault(path+".json_lines", "found json_lines and http, allowed is one of them", "")
	case w.HTTP != "" || s.has(path+".http"):
		checkEndpoint(s, path+".http", w.HTTP)
	case shadow && !s.has(path+".command"):
	default:
		w.validateCommand(s, path)
	}
	slots := within(s, path+".slots", w.Slots, 1, maxSlots, strconv.Itoa)
	if !within(s, path+".batch", w.Batch, 1, maxBatch, strconv.Itoa) || w.Batch == 1 {
		return
	}
	if !w.JSONLines && w.HTTP == "" {
		s.fault(path+".batch", fmt.Sprintf("found a batch of %d for a command that is run for each message, allowed is 1", w.Batch),
			"batches need json_lines: true or http")
	} else if slots && w.AtOnce() > maxSlots {
		s.fault(path+".batch", fmt.Sprintf("found %d slots of %d messages each, allowed are at most %d messages at once", w.Slots, w.Batch, maxSlots), "")
	}
}

func (w Workers) validateCommand(s *source, path string) {
	program := "a program with its arguments, as in [./resize.sh, --fast]"
	if len(w.Command) == 0 {
		s.fault(path+".command", s.missing(path+".command", "no program", program+", or http with a URL"), "")
	} else if w.Command[0] == "" {
		s.fault(path+".command[0]", "found no program, allowed is "+program, "")
	}
	for i, argument := range w.Command {
		if strings.ContainsRune(argument, 0) {
			s.fault(fmt.Sprintf("%s.command[%d]", path, i), "found a NUL character, allowed is text without", "")
		}
	}
}

// checkEndpoint holds the URL to what a worker accepts: messages go there unencrypted.
func checkEndpoint(s *source, path, address string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "":
		s.fault(path, fmt.Sprintf("found %s, allowed is an http URL on this machine, as in http://127.0.0.1:8080/work", quote(address)), "")
	case !isLoopback(u.Hostname()):
		s.fault(path, fmt.Sprintf("found the host %s, allowed is this machine alone: 127.0.0.1, [::1] or localhost", quote(u.Hostname())),
			"messages go there unencrypted; for another machine, run muster work there")
	}
}

func (w Workers) validateTimes(s *source, path string) {
	within(s, path+".boot", w.Boot, 0, day, span)
	within(s, path+".idle", w.Idle, 0, day, span)
	s.seconds(path+".visibility", w.Visibility, 2*time.Second, 12*time.Hour)
	within(s, path+".time_limit", w.TimeLimit, 0, 12*time.Hour, span)
	within(s, path+".grace", w.Grace, 0, day, span)
	within(s, path+".warm_up", w.WarmUp, 0, time.Hour, span)
	if s.has(path + ".retry") {
		within(s, path+".retry", w.Retry, time.Second, 20*time.Minute, span)
	}
	if s.has(path+".start_limit") && within(s, path+".start_limit", w.StartLimit, time.Second, time.Hour, span) && !w.JSONLines {
		s.fault(path+".start_limit", "found start_limit for workers without json_lines, allowed is it with json_lines: true", "")
	}
}

// validateDeadLetter checks that messages whose attempts are used up have a place to go, and no other has.
func (f *Fleet) validateDeadLetter(s *source, path string, w *Workers) {
	if !within(s, path+".max_attempts", w.MaxAttempts, 0, maxAttempts, strconv.Itoa) {
		return
	}
	stated, dead := s.has(path+".dead_letter"), &w.DeadLetter
	at := path + ".dead_letter"
	switch {
	case w.MaxAttempts == 0 && stated:
		s.fault(at, "found dead_letter without max_attempts, allowed are both or neither", "say after how many failed attempts, as in max_attempts: 5")
		return
	case w.MaxAttempts == 0:
		return
	case len(f.Queues) == 0:
		s.fault(path+".max_attempts", "found attempts to count in a fleet without a queue, allowed is 0", "")
		return
	case *dead == QueueRef{}:
		s.fault(path+".max_attempts", "found max_attempts without a place for what used them up, allowed is one with dead_letter: the name of an embedded queue, or a URL", "")
		return
	}
	dead.validate(s, at)
	for _, q := range f.Queues {
		if q == *dead || q.URL != "" && q.URL == dead.URL {
			s.fault(at, fmt.Sprintf("found %s, which the fleet serves, allowed is another queue", quote(q.Name)), "")
		}
	}
	if (dead.URL == "") != (f.Queues[0].URL == "") {
		s.fault(at, "found an embedded queue and one on SQS, allowed are queues of one kind", "a worker has keys for one of them")
	}
	if fifo := strings.HasSuffix(dead.Name, ".fifo"); fifo != strings.HasSuffix(f.Queues[0].Name, ".fifo") && dead.Name != "" {
		s.fault(at, fmt.Sprintf("found %s for %s, allowed is a queue of the same kind: FIFO or not", quote(dead.Name), quote(f.Queues[0].Name)), "")
	}
}
