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
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/policy"
)

// MaxBytes bounds the text of a configuration.
const MaxBytes = keys.MaxBytes

// Config is a whole configuration that was validated. It is not changed after [Parse] returned it.
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
	// AWS says how AWS is called.
	AWS AWS
	// Queues are the embedded queues whose attributes are stated; one that only a fleet names has the defaults.
	Queues []Queue
	// Fleets have distinct names, and no queue is served by two of them.
	Fleets []Fleet

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
	// DeadLetter is where messages go that were received too often; its Queue is empty when there is none.
	DeadLetter DeadLetter
}

// DeadLetter says where messages go after After receives, 1 to 1000.
type DeadLetter struct {
	Queue string
	After int
}

// Fleet is what serves one queue, or several, and is sized together.
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
	// Poll is the time between two looks at the queue: 100 ms to 1 h, by default 1 s, and 5 s where services of others
	// are looked at. There looks are rarer while nothing changes.
	Poll time.Duration
	// Policy is the policy with its headroom, its budget and the shapes of rise and fall, by default deadline. It
	// passes Check.
	Policy policy.Spec
	// Workers says what a worker is. With Split it is what the parts have unless they state their own.
	Workers Workers
	// Members is what the fleet consists of; nil for the first of the kinds, processes of this machine.
	Members Members
	// Signals are what it is measured by beside its queue, or in its place.
	Signals []Signal
	// Sizer sizes the fleet in Muster's place; nil where Muster does. Policy.Delegate is set together with it.
	Sizer Sizer
	// ReportsTable is the table of DynamoDB in which the workers of a fleet elsewhere keep their reports, in the
	// fleet's region; empty where they report to the controller, or not at all.
	ReportsTable string
	// Split are the parts that the size is shared out to, 2 to 20; empty for a fleet of one kind of worker.
	Split []Part
}

// QueueRef names a queue that a fleet serves.
type QueueRef struct {
	// Name is the queue's name, URL where it is; the URL of an embedded queue is empty.
	Name, URL string
	// Region is that of AWS which its URL names; empty for none.
	Region string
	// Remote tells whether a look at it is a call to a service that others run: it has a price, and what it tells is
	// late.
	Remote bool
}

// Own tells whether the queue is one of Muster's own, embedded in the program that runs the fleet.
func (q QueueRef) Own() bool { return q.URL == "" }

// Text is how the queue is named in a configuration.
func (q QueueRef) Text() string { return cmp.Or(q.URL, q.Name) }

// Part is one kind of worker of a fleet.
type Part struct {
	// Name is unique within the fleet, and like a fleet's.
	Name string
	// Base is how many workers it has before others get any, Weight its share of those beyond all bases, Max the most
	// it may have; zero means no limit of its own. Base or Weight is above zero.
	Base, Weight, Max int
	Workers           Workers
}

// Workers says what a fleet's workers run, and how.
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
	// MaxAttempts is after how many failed attempts a message goes to DeadLetter: 1 to 1000, or 0 for what the queue
	// says.
	MaxAttempts int
	// DeadLetter is where messages go whose attempts are used up; its Name is empty without MaxAttempts. By default it
	// is that of the one embedded queue the fleet serves.
	DeadLetter QueueRef
	// ClassAttribute names the message attribute whose text is a message's class; empty for none.
	ClassAttribute string
	// Boot is the expected boot time, used until boots were measured: 0 to 24 h, by default 1 s.
	Boot time.Duration
	// Idle is how long a worker waits for a message before it offers to leave; zero means never. It is 0 to 24 h, by
	// default 30 s with the policy exact, whose fleets fall no other way, and 0 with every other.
	Idle time.Duration
	// Visibility is how long a worker holds a message before it extends the hold: whole seconds from 2 s to 12 h, by
	// default 30 s.
	Visibility time.Duration
	// TimeLimit is how long a message may take before its work is ended and it counts as failed; zero means as long as
	// it takes. At most 12 h.
	TimeLimit time.Duration
	// Grace is how long an operator's stop waits for the messages in work; zero means as long as they take. At most 24
	// h.
	Grace time.Duration
	// Retry is how long a message waits after its first failure, doubled with each further one: 1 s to 20 min, or zero
	// for the worker's default of 30 s.
	Retry time.Duration
	// StartLimit is how long a JSONLines command may take to say that it is ready: 1 s to 1 h, or zero for the worker's
	// default of 1 min.
	StartLimit time.Duration
	// Env are the environment variables that the command gets: NAME for one that is passed on, NAME=VALUE for one that
	// is set.
	Env []string
	// Log is from which level on workers log: debug, info, warn or error; empty for the default, warn.
	Log string
	// WarmUp delays a worker's first receive, to show slow boots: 0 to 1 h.
	WarmUp time.Duration
	// Report says where workers report to besides the controller, up to 4: "cloudwatch", "cloudwatch:NAMESPACE" or
	// "dynamodb:TABLE".
	Report []string
	// ReportEvery is the period of the metrics of CloudWatch: 5 s, 10 s, 30 s or 1 min, the default. It is zero without
	// Report.
	ReportEvery time.Duration
	// BillingPeriod is what the machine is paid by: 1 min to 31 days, or zero for by the second. BillingMargin is how
	// long before its end an idle worker offers to leave: 1 s to half of it, or zero for the worker's own default.
	// BillingStart is when the first period began; zero is when the worker starts.
	BillingPeriod, BillingMargin time.Duration
	BillingStart                 time.Time
	// LifecycleHook is the name of the lifecycle hook that keeps this machine while its workers finish, or "auto" for
	// the only one of its group; empty for none. Group is the group's name; empty to have it asked for.
	LifecycleHook, Group string
}

// OnAWS tells whether a worker calls AWS for more than its queue.
func (w Workers) OnAWS() bool { return len(w.Report) > 0 || w.LifecycleHook != "" }

// Variables returns the names of the environment variables that the command gets of this process's own, and those that
// are set, as NAME=VALUE.
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

// AtOnce is how many messages a worker handles at once: each of its slots a batch.
func (w Workers) AtOnce() int { return w.Slots * max(1, w.Batch) }

// Load reads the configuration in the file at path, of fleets, queues and signals of those kinds, with the variables of
// the environment. Faults in the text are returned as [Faults].
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

// settle makes the paths absolute, which are relative to the file.
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

// Parse reads the configuration in text. The name stands in messages; lookup finds variables, as [os.LookupEnv] does.
// The error is [Faults]: all that is wrong with the text. Parse does no I/O.
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

// under returns path, which may be relative to the file, as seen from the current directory.
func (c *Config) under(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Dir, path)
}
