package app

import (
	"encoding/json"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
)

// maxQueues bounds the queues of one worker.
const maxQueues = 20

// Started is what a fleet tells a worker that it starts on this machine: the settings of the configuration, under the
// same keys, and the URLs of its queues.
type Started struct {
	// Queues are the URLs of the queues. DeadLetter is the URL of the queue for messages without an attempt left;
	// empty without max_attempts.
	Queues     []string
	DeadLetter string
	// Data is the directory that the workers of one machine share: they count attempts there.
	Data    string
	Workers config.Workers
}

func (s *Started) keys() []keys.Key {
	return []keys.Key{
		keys.Texts("queues", &s.Queues, maxQueues, "the URLs of the queues"),
		keys.Text("dead_letter", &s.DeadLetter, "the URL of the queue for dead letters"),
		keys.Text("data", &s.Data, "the directory of the data"),
		keys.Into("workers", &s.Workers, (*config.Workers).Keys, "what a worker is"),
	}
}

// Text renders it for [ReadStarted], as JSON.
func (s Started) Text() (string, error) {
	all := keys.Written(s.keys())
	all["workers"] = keys.Written(s.Workers.Keys())
	text, err := json.Marshal(all)
	return string(text), err
}

// ReadStarted reads what [Started.Text] wrote.
func ReadStarted(text string) (s Started, err error) {
	return s, keys.Read(WorkVariable, []byte(text), s.keys())
}

// A fleet passes settings to the workers it starts on this machine in these variables. Every user of the machine can
// read a command line, so secrets are not passed there.
const (
	// LogsVariable names the directory of the fleets' logs. TreesVariable names where trees are kept: see [OpenTrees].
	LogsVariable  = "MUSTER_LOGS"
	TreesVariable = "MUSTER_TREES"
	// WorkVariable holds the settings of the worker: a [Started] as text.
	WorkVariable = "MUSTER_WORK"
	// QueueKeyVariable and QueueSecretVariable hold the keys of the embedded queue. They have names of their own
	// because a worker may also use AWS, with its own keys.
	QueueKeyVariable    = "MUSTER_QUEUE_ACCESS_KEY_ID"
	QueueSecretVariable = "MUSTER_QUEUE_SECRET_ACCESS_KEY"
)
