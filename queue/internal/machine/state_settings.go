package machine

// Settings are the parsed attributes of a queue; times in milliseconds.
type Settings struct {
	Visibility, Delay, Retention, Wait int64
	MaxBytes                           int
	Redrive                            *Redrive
	Allow                              RedriveAllow

	Fifo         bool
	ContentDedup bool // the hash of the body stands in for a deduplication id
	DedupByGroup bool // deduplication ids are unique within a group only
}

// Redrive says where messages go that were received too often.
type Redrive struct {
	Target string // queue name
	Max    int    // receives
}

// RedriveAllow says which queues may send their dead letters here.
type RedriveAllow struct {
	Permission string   // allowAll, denyAll or byQueue
	Sources    []string // queue names
}
