package curves

import "math"

// Column is one number of a fleet.
type Column int

// The columns. Their numbers are part of the file: a new column goes to the end.
const (
	Desired Column = iota
	InService
	Busy
	Idle
	Pending
	Draining
	Lost
	Min
	Max
	Backlog
	BacklogMax
	InFlight
	Retrying
	OldestAge
	Objective
	P50
	P95
	PerWorker
	Acceptable
	Utilization
	UtilizationTarget
	InTime
	Late
	Arriving
	Finished
	Failed
	CostPerHour
	DeadLetters
	columnCount
)

// fold is how the values of one bucket become one.
type fold int

const (
	mean fold = iota
	largest
	last
)

// described are the names of the columns, as answers have them, and their folds. A mean is over the known samples. Of
// ages and failures the largest counts, because a short breach must stay visible in a month.
var described = [columnCount]struct {
	name string
	fold fold
}{
	Desired: {"desired", mean}, InService: {"in_service", mean}, Busy: {"busy", mean}, Idle: {"idle", mean},
	Pending: {"pending", mean}, Draining: {"draining", mean}, Lost: {"lost", mean}, Min: {"min", last},
	Max: {"max", last}, Backlog: {"backlog", mean}, BacklogMax: {"backlog_max", largest}, InFlight: {"in_flight", mean},
	Retrying: {"retrying", mean}, OldestAge: {"oldest_age_s", largest}, Objective: {"objective_s", last},
	P50: {"processing_p50_s", last}, P95: {"processing_p95_s", last}, PerWorker: {"per_worker", mean},
	Acceptable: {"acceptable_per_worker", last}, Utilization: {"utilization", mean},
	UtilizationTarget: {"utilization_target", last}, InTime: {"in_time", last}, Late: {"late", largest},
	Arriving: {"arriving_per_s", mean}, Finished: {"finished_lately", last}, Failed: {"failed_lately", largest},
	CostPerHour: {"cost_per_hour", mean}, DeadLetters: {"dead_letters", last},
}

// Columns returns all columns in their order.
func Columns() []Column {
	all := make([]Column, columnCount)
	for i := range all {
		all[i] = Column(i)
	}
	return all
}

// String returns the name of a column, as answers have it.
func (c Column) String() string { return described[c].name }

// Sample is what a fleet measured at one time: a value for each column, NaN for an unknown one. Make it with
// [NewSample].
type Sample [columnCount]float64

// NewSample returns a sample in which everything is unknown.
func NewSample() Sample {
	var s Sample
	for c := range s {
		s[c] = math.NaN()
	}
	return s
}

// bucket is the folded samples of one stretch of time.
type bucket struct {
	// samples counts the folded samples. known is the share of them, 0 to 1, in which a column was known: the weight of
	// its mean.
	samples float64
	known   [columnCount]float64
	values  Sample
}

// bucketOf returns a bucket of one sample.
func bucketOf(s Sample) bucket {
	b := bucket{samples: 1, values: s}
	for c, v := range s {
		if !math.IsNaN(v) {
			b.known[c] = 1
		}
	}
	return b
}

// with returns the bucket with a later one folded in.
func (b bucket) with(o bucket) bucket {
	if b.samples == 0 {
		return o
	}
	sum := bucket{samples: b.samples + o.samples}
	for c := range sum.values {
		x, y := b.values[c], o.values[c]
		inX, inY := b.known[c]*b.samples, o.known[c]*o.samples
		sum.known[c] = (inX + inY) / sum.samples
		switch {
		case math.IsNaN(y):
			sum.values[c] = x
		case math.IsNaN(x):
			sum.values[c] = y
		case described[c].fold == largest:
			sum.values[c] = max(x, y)
		case described[c].fold == last:
			sum.values[c] = y
		default:
			sum.values[c] = (x*inX + y*inY) / (inX + inY)
		}
	}
	return sum
}
