package series

// Durations is a histogram of durations with logarithmic buckets: 2 % relative error from 10 microseconds to 30 days in
// at most 660 buckets. The zero Durations is empty. It is a value: the functions of this package return new ones and
// change none, so that several goroutines may share one.
//
// Its JSON form is part of the worker protocol and of the recorded history.
type Durations struct {
	// Count is the number of durations, the sum of the counts of Buckets.
	Count int64 `json:"count"`
	// SumSeconds is the exact sum, so that a mean has no error of the buckets.
	SumSeconds float64 `json:"sum_s"`
	// Buckets are sorted by Index, without repeats.
	Buckets []Bucket `json:"buckets,omitzero"`
}

// Bucket counts the durations of one range.
type Bucket struct {
	// Index is the number of the range, see [Accuracy]; Count is at least 1.
	Index int   `json:"i"`
	Count int64 `json:"n"`
}
