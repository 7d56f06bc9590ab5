package protocol

import "math"

// Usage is the processor time and memory that measured calls of the work took, and what the member offers. It is a sum
// over calls; [MergeUsage] adds two. Calls that cannot be measured, such as those over HTTP, are in none, so a missing
// Usage is unknown, never 0.
type Usage struct {
	// Calls is how many calls were measured; above 0 in a report. WallSeconds is how long they took together,
	// CPUSeconds the processor time of their processes, children included, in seconds of one core.
	Calls       int64   `json:"calls"`
	WallSeconds float64 `json:"wall_s"`
	CPUSeconds  float64 `json:"cpu_s"`
	// PeakBytes is the largest memory (resident set) of one process; 0 if unknown.
	PeakBytes int64 `json:"peak_bytes,omitzero"`
	// Cores is how many cores the worker and its processes may use, MemoryBytes how much memory; 0 if unknown. In a
	// sum, Cores is the mean by WallSeconds, MemoryBytes the smallest.
	Cores       float64 `json:"cores,omitzero"`
	MemoryBytes int64   `json:"memory_bytes,omitzero"`
}

// The bounds of a Usage in one report: a year of 10,000 calls at once, a pebibyte, and more cores than machines have.
const (
	maxUsageCalls   = 1_000_000_000
	maxUsageSeconds = 366 * 24 * 60 * 60 * 1e4
	maxUsageBytes   = 1 << 50
	maxUsageCores   = 1 << 16
)

// Valid tells whether u could have been measured. It is false for numbers that are negative, NaN or beyond any machine.
func (u Usage) Valid() bool {
	seconds := func(v float64) bool { return v >= 0 && v <= maxUsageSeconds }
	return u.Calls > 0 && u.Calls <= maxUsageCalls && seconds(u.WallSeconds) && seconds(u.CPUSeconds) &&
		u.PeakBytes >= 0 && u.PeakBytes <= maxUsageBytes && u.MemoryBytes >= 0 && u.MemoryBytes <= maxUsageBytes &&
		u.Cores >= 0 && u.Cores <= maxUsageCores
}

// MergeUsage returns the sum of a and b. One without calls changes nothing.
func MergeUsage(a, b Usage) Usage {
	switch {
	case b.Calls <= 0:
		return a
	case a.Calls <= 0:
		return b
	}
	sum := Usage{
		Calls: a.Calls + b.Calls, WallSeconds: a.WallSeconds + b.WallSeconds, CPUSeconds: a.CPUSeconds + b.CPUSeconds,
		PeakBytes: max(a.PeakBytes, b.PeakBytes), Cores: a.Cores, MemoryBytes: a.MemoryBytes,
	}
	switch {
	case a.Cores == 0:
		sum.Cores = b.Cores
	case b.Cores > 0 && b.Cores != a.Cores && sum.WallSeconds > 0:
		sum.Cores = (a.Cores*a.WallSeconds + b.Cores*b.WallSeconds) / sum.WallSeconds
		sum.Cores = math.Min(math.Max(sum.Cores, math.Min(a.Cores, b.Cores)), math.Max(a.Cores, b.Cores))
	}
	if b.MemoryBytes > 0 && (a.MemoryBytes == 0 || b.MemoryBytes < a.MemoryBytes) {
		sum.MemoryBytes = b.MemoryBytes
	}
	return sum
}
