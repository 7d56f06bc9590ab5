package config

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config/channels"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/config/sharing"
	"github.com/muster-scale/muster/policy"
)

// MaxBytes bounds the text of a configuration.
const MaxBytes = keys.MaxBytes

// This file has the types of a configuration and the functions that read it. Each field states its range and default;
// the declarations in root.go, fleet.go, policy.go, workers.go and placement.go enforce them.

// Config is a complete, valid configuration. Nothing changes it after [Parse] returned it, so several goroutines may
// read it.
type Config struct {
	// Dir is the directory of the file: relative paths and commands start from there. It is set by [Load], and empty,
	// the current directory, after [Parse].
	Dir string
	// Data is the directory of the queue, the history and the keys; [Load] makes it absolute. By default .muster.
	Data string
	// Listen says where the servers listen.
	Listen Listen
	// Strict lets the embedded queues refuse, as AWS does, a second purge of a queue and the name of a deleted one for
	// 60 s. By default they are relaxed about both. The limits of SQS hold either way.
	Strict bool
	// Dashboard says how browsers use the API.
	Dashboard Dashboard
	// AWS says how AWS is called.
	AWS AWS
	// Controllers says where several controllers take turns; its zero value is one controller alone.
	Controllers sharing.Controllers
	// Notify are the channels that are told of incidents. They have distinct names.
	Notify []channels.Channel
	// Events are the queues of events, distinct from each other and from all queues of work.
	Events []EventQueue
	// Queues are the embedded queues whose attributes are stated; one that only a fleet names has the defaults.
	Queues []Queue
	// Fleets have distinct names, and no queue is served by two of them.
	Fleets []Fleet

	// source is the text, for remarks and later checks. It is nil in a Config that Parse did not return.
	source *keys.Source
}

// Listen holds addresses as host:port, those of Queue and API on the loopback interface. Port 0 takes any free port.
type Listen struct {
	// Queue is the SQS endpoint of the embedded queues, by default 127.0.0.1:9324.
	Queue string
	// API is for worker reports, events, status and metrics, by default 127.0.0.1:9325.
	API string
	// Beyond opens both to other machines, with TLS only. Its addresses are empty when it was not stated.
	Beyond Beyond
}

// Beyond says where other machines reach the servers.
type Beyond struct {
	// Queue and API are addresses as host:port; at least one is stated.
	Queue, API string
	// Cert and Key are the files of the certificate chain and its key, in PEM; [Load] makes them absolute.
	Cert, Key string
	// Hosts are the names under which the servers are reached; requests under others are refused.
	Hosts []string
}

// Queue states the attributes of an embedded queue. Durations are whole seconds.
type Queue struct {
	// Name has 1 to 80 letters, digits, hyphens and underscores.
	Name string
	// Visibility is how long a received message stays hidden: 0 to 12 h, by default 30 s.
	Visibility time.Duration
	// Delay is how long a new message stays hidden: 0 to 15 min, by default 0.
	Delay time.Duration
	// Retention is how long a message is kept: 1 min to 14 days, by default 4 days.
	Retention time.Duration
	// DeadLetter is the destination of messages that were received too often; its Queue is empty for none.
	DeadLetter DeadLetter
}

// DeadLetter is the destination of messages that were received After times, 1 to 1000, and not deleted.
type DeadLetter struct {
	Queue string
	After int
}

// Fleet is a set of workers that serve one queue or several and are sized together.
type Fleet struct {
	// Name has 1 to 63 letters, digits, dots, hyphens and underscores, and begins with a letter or digit.
	Name string
	// Queues are the queues it serves, up to 20; none when the work is known from worker reports or the calendar alone.
	Queues []QueueRef
	// Objective is by default 99 % within 30 s. Its latency is 1 ms to 14 days. Its price of a late message is 0 to
	// 14 days, by default 0, which stands for what [muster.Objective.PriceOfLate] says.
	Objective muster.Objective
	// Limits have 0 <= Min <= Max <= 10,000. LaunchesPerHour is by default 10 for each worker of Max, at least 60.
	Limits muster.Limits
	// Poll is the time between two polls of the queue: 100 ms to 1 h, by default 1 s, and 5 s where a poll calls a
	// service on the network. There, polls become rarer while nothing changes.
	Poll time.Duration
	// Policy is the policy with its headroom, its budget and the rates of rise and fall, by default deadline. It passes
	// [policy.Spec.Check].
	Policy policy.Spec
	// Workers describes one worker. With Split it has the values that parts do not state.
	Workers Workers
	// Members is the fleet's kind with its parameters; nil for the first kind, processes of this machine.
	Members Members
	// Signals are the measurements in addition to its queue, or instead of it.
	Signals []Signal
	// Sizer sizes the fleet instead of Muster; nil when Muster does. Policy.Delegate is set together with it.
	Sizer Sizer
	// ReportsTable is the DynamoDB table, in the fleet's region, where workers on other machines store their reports;
	// empty when they report to the controller, or not at all.
	ReportsTable string
	// Split are the parts among which the size is divided, 2 to 20; empty for a fleet with one kind of worker.
	Split []Part
}

// QueueRef names a queue that a fleet serves.
type QueueRef struct {
	// Name is the queue's name. URL is its address; empty for an embedded queue.
	Name, URL string
	// Region is the AWS region in its URL; empty for none.
	Region string
	// Remote tells whether a poll calls a service on the network: it has a price, and its result is late.
	Remote bool
}

// Own tells whether the queue is embedded in the program that runs the fleet.
func (q QueueRef) Own() bool { return q.URL == "" }

// Text returns the queue as a configuration names it: by its URL, or else by its name.
func (q QueueRef) Text() string { return cmp.Or(q.URL, q.Name) }

// Part is one kind of worker of a fleet.
type Part struct {
	// Name is unique within the fleet: 1 to 63 letters, digits, hyphens and underscores.
	Name string
	// Base is the number of workers of the part before parts without a base get any, 0 to 10,000. Weight is its share
	// of the workers beyond all bases, 0 to 1000. Base or Weight is above zero. Max is the most workers it may have;
	// zero means no limit of its own.
	Base, Weight, Max int
	Workers           Workers
}

// Workers describes the workers of a fleet: the program for each message, and the terms of its work.
type Workers struct {
	// Command is the program and its arguments, run for each message. It is never given to a shell. It is empty with
	// HTTP.
	Command []string
	// JSONLines has the command run once for each slot, to speak lines of JSON; docs/worker-protocol.md specifies them.
	JSONLines bool
	// HTTP is an http URL on this machine to which each message is POSTed, in place of a command; empty for none.
	HTTP string
	// Slots is how many calls of the command or the URL a worker makes at once: 1 to 1000, by default 1.
	Slots int
	// Batch is how many messages a call brings at most: 1 to 10, by default 1, and more only with JSONLines or HTTP.
	// Slots times Batch is at most 1000.
	Batch int
	// MaxAttempts is the number of failed attempts after which a message goes to DeadLetter: 1 to 1000, or 0 to leave
	// that to the queue.
	MaxAttempts int
	// DeadLetter is the destination of messages whose attempts are used up; its Name is empty without MaxAttempts. By
	// default it is the dead-letter queue of the fleet's embedded queue, if there is exactly one queue.
	DeadLetter QueueRef
	// ClassAttribute names the message attribute whose text is a message's class; empty for none.
	ClassAttribute string
	// Boot is the expected boot time, used until boots were measured: 0 to 24 h, by default 1 s.
	Boot time.Duration
	// Idle is how long a worker waits for a message before it is ready to stop; zero means never. It is 0 to 24 h, by
	// default 30 s with the policy exact, whose fleets shrink no other way, and 0 with every other.
	Idle time.Duration
	// Visibility is the visibility timeout of a received message, which the worker extends while it works: whole
	// seconds from 2 s to 12 h, by default 30 s.
	Visibility time.Duration
	// TimeLimit is how long the work on a message may take, up to 12 h. Then it is stopped, and the attempt has failed.
	// Zero means no limit.
	TimeLimit time.Duration
	// Grace is how long an operator's stop waits for messages in progress, up to 24 h; zero means as long as they take.
	Grace time.Duration
	// Retry is how long a message waits for its retry after the first failure, doubled with each further one: 1 s to
	// 20 min, or zero for the worker's default of 30 s.
	Retry time.Duration
	// StartLimit is how long a JSONLines command may take to say that it is ready: 1 s to 1 h, or zero for the worker's
	// default of 1 min.
	StartLimit time.Duration
	// Env are the environment variables of the command: NAME to pass on a variable of muster up, NAME=VALUE to set one.
	Env []string
	// Log is the lowest level that workers log: debug, info, warn or error; empty for the default, warn.
	Log string
	// WarmUp delays a worker's first receive, to show slow boots: 0 to 1 h.
	WarmUp time.Duration
	// Report are up to 4 destinations of reports besides the controller: "cloudwatch", "cloudwatch:NAMESPACE" or
	// "dynamodb:TABLE".
	Report []string
	// ReportEvery is the period of the metrics of CloudWatch: 5 s, 10 s, 30 s or 1 min, the default. It is zero without
	// Report.
	ReportEvery time.Duration
	// BillingPeriod is the period that the machine is billed by: 1 min to 31 days, or zero for by the second.
	// BillingMargin is how long before the end of a period an idle worker becomes ready to stop: 1 s to half the
	// period, or zero for the worker's own default. BillingStart is when the first period began; zero means when the
	// worker starts.
	BillingPeriod, BillingMargin time.Duration
	BillingStart                 time.Time
	// LifecycleHook is the name of the lifecycle hook that keeps this machine while its workers finish, or "auto" for
	// the only one of its group; empty for none. Group is the group's name; empty means that it is read from AWS.
	LifecycleHook, Group string
}

// OnAWS tells whether a worker calls AWS for more than its queue.
func (w Workers) OnAWS() bool { return len(w.Report) > 0 || w.LifecycleHook != "" }

// Variables splits Env: names are the variables to pass on from this process, set are the others as NAME=VALUE.
func (w Workers) Variables() (names, set []string) {
	for _, v := range w.Env {
		if strings.Contains(v, "=") {
			set = append(set, v)
		} else {
			names = append(names, v)
		}
	}
	return names, set
}

// AtOnce returns how many messages a worker handles at once: one batch in each slot.
func (w Workers) AtOnce() int { return w.Slots * max(1, w.Batch) }

// Load reads the configuration in the file at path and makes its paths absolute. Variables in it are those of the
// environment. Problems in the text are returned as [Faults]; other errors concern the file.
func Load(path string, kinds Kinds) (*Config, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	c, err := Parse(path, text, os.LookupEnv, kinds)
	if err != nil {
		return nil, err
	}
	return c, c.settle(path)
}

// settle sets Dir and makes the other paths absolute; in the text they are relative to the file.
func (c *Config) settle(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	c.Dir = filepath.Dir(absolute)
	c.Data = c.under(c.Data)
	if b := &c.Listen.Beyond; b.Cert != "" {
		b.Cert, b.Key = c.under(b.Cert), c.under(b.Key)
	}
	return nil
}

// readFile reads a little more than Parse accepts, so that Parse says what is wrong with a larger file.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxBytes+1))
}

// Parse reads the configuration in text. The name stands for the file in messages; lookup finds variables, as
// [os.LookupEnv] does. The error is always [Faults], with all problems of the text. Parse does no I/O.
func Parse(name string, text []byte, lookup func(string) (string, bool), kinds Kinds) (*Config, error) {
	s := keys.NewSource(name, text)
	root, ok := s.Parse(text)
	if !ok {
		return nil, s.Err()
	}
	c := &Config{source: s}
	rows := c.rows(kinds)
	keys.Decode(s, lookup, root, rows)
	keys.Fill(s, "", rows)
	keys.Check(s, "", rows)
	if err := s.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// Effective returns the values in force, in the order of the reference, for the kinds that c was parsed with. Values
// that may hold secrets are hidden: the destinations of notices, the variables of workers, and tokens. It is empty for
// a Config that Parse did not return.
func (c *Config) Effective(kinds Kinds) []keys.Effective {
	if c.source == nil {
		return nil
	}
	all := keys.EffectiveOf(c.source, c.rows(kinds))
	for i, e := range all {
		if secret(e.Path) {
			all[i].Text = "(hidden)"
		}
	}
	return all
}

// secret tells whether the value at a path may hold a secret. Of a channel, its name alone holds none.
func secret(path string) bool {
	if strings.HasPrefix(path, "notify") {
		return !strings.HasSuffix(path, "].name")
	}
	return strings.HasSuffix(path, ".env") || strings.Contains(path, ".env[") || strings.HasSuffix(path, ".token")
}

// Text returns the text that c was parsed from; empty for a Config that Parse did not return.
func (c *Config) Text() string {
	if c.source == nil {
		return ""
	}
	return strings.Join(c.source.Lines(), "\n")
}

// under returns a path of the text, which may be relative to Dir, as a path that can be opened.
func (c *Config) under(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Dir, path)
}
