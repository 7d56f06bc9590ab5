package series

// Durations is a histogram of durations with logarithmic buckets. It is a value: the functions of this package return
// new ones.
type Durations struct {
	Count int64 `json:"count"`
	// SumSeconds is exact.
	SumSeconds float64 `json:"sum_s"`
	// Buckets are sorted by Index, without repeats.
	Buckets []Bucket `json:"buckets,omitzero"`
}

// Bucket counts the durations of one range.
type Bucket struct {
	Index int   `json:"i"`
	Count int64 `json:"n"`
}
