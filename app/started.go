package app

import (
	"encoding/json"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
)

// maxQueues bounds the queues that a worker serves.
const maxQueues = 20

// Started is what a worker is told that a fleet starts on this machine: what the configuration says of its workers, in
// the same keys, and where it finds its queues.
type Started struct {
	// Queues are the URLs of the queues, DeadLetter that of the queue for messages whose attempts are used up; empty
	// without max_attempts.
	Queues     []string
	DeadLetter string
	// Data is the directory in which attempts are counted, and in which the workers of a machine meet.
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
