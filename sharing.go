package muster

// Sharing tells how processing durations grow with the number of messages in progress, for members that share one
// machine.
type Sharing struct {
	// Cores is how many cores the machine has, at least 1.
	Cores int `json:"cores"`
	// Crowds are the finished messages, grouped by how many were in progress at the same time, fewest first; at most
	// [MaxCrowds].
	Crowds []Crowd `json:"crowds,omitzero"`
}

// MaxCrowds bounds the groups of [Sharing].
const MaxCrowds = 32

// Crowd summarises the messages that finished while about Busy slots were busy.
type Crowd struct {
	// Busy is the mean number of busy slots while these messages were in progress, their own slots included.
	Busy float64 `json:"busy"`
	// Messages counts the finished ones, Lately those of the last two minutes.
	Messages float64 `json:"messages"`
	Lately   float64 `json:"lately,omitzero"`
	// MeanSeconds is their mean processing duration.
	MeanSeconds float64 `json:"mean_s"`
}
