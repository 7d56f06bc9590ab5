package muster

// Sharing is what was measured of members that share one machine: how long messages take depends on how many are in
// progress at once.
type Sharing struct {
	// Cores is how many cores the machine has, at least 1.
	Cores int `json:"cores"`
	// Crowds are the finished messages by how many were in progress meanwhile, fewest first; at most [MaxCrowds].
	Crowds []Crowd `json:"crowds,omitzero"`
}

// MaxCrowds bounds the crowds that are told apart.
const MaxCrowds = 32

// Crowd is the messages that finished while about as many were in progress.
type Crowd struct {
	// Busy is how many slots were busy on average while these messages were worked on, themselves included.
	Busy float64 `json:"busy"`
	// Messages is how many finished, Lately how many of them during the last two minutes.
	Messages float64 `json:"messages"`
	Lately   float64 `json:"lately,omitzero"`
	// MeanSeconds is their mean processing duration.
	MeanSeconds float64 `json:"mean_s"`
}
