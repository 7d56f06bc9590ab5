package cloudwatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/muster-scale/muster/worker"
)

const (
	// maxNumbers is how many numbers the embedded metric format allows for a metric in one line.
	maxNumbers = 100
	// maxLines bounds the lines of one digest. With more messages than fit, each number stands for several: the mean
	// stays exact, and the number of messages is lost.
	maxLines = 50
)

// Lines is a [worker.Sink] that writes lines in the embedded metric format, one JSON object each. Several goroutines
// may use it: each line is a single write to the writer.
type Lines struct {
	mu  sync.Mutex
	out io.Writer
	o   Options
}

// NewLines returns a sink that writes to out. CloudWatch Logs must receive out unchanged, as it does standard output on
// Lambda, on ECS with the log driver awslogs, and through the CloudWatch agent.
func NewLines(out io.Writer, o Options) (*Lines, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	return &Lines{out: out, o: o}, nil
}

// metric is the declaration of a metric in a line.
type metric struct {
	Name              string
	Unit              string
	StorageResolution int32
}

// Take implements [worker.Sink].
func (l *Lines) Take(_ context.Context, d worker.Digest) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	for _, line := range l.lines(d) {
		if err := e.Encode(line); err != nil {
			return fmt.Errorf("write a line of metrics: %w", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.out.Write(text.Bytes()); err != nil {
		return fmt.Errorf("write a line of metrics: %w", err)
	}
	return nil
}

// lines returns the JSON objects of a digest. The first one holds the slots.
func (l *Lines) lines(d worker.Digest) []map[string]any {
	var all []map[string]any
	numbers := expand(Values(d.Report.Processing), maxNumbers*maxLines)
	for first := true; first && !d.Extra || len(numbers) > 0; first = false {
		var metrics []metric
		members := map[string]any{}
		if first && !d.Extra {
			metrics = append(metrics, metric{MetricTotalWorkers, "Count", resolution(d.Every)})
			members[MetricTotalWorkers] = totalWorkers(d.Report)
		}
		if n := min(maxNumbers, len(numbers)); n > 0 {
			metrics = append(metrics, metric{MetricMPD, "Seconds", resolution(d.Every)})
			members[MetricMPD] = numbers[:n]
			numbers = numbers[n:]
		}
		all = append(all, l.line(d, metrics, members))
	}
	return all
}

// line returns one object of the embedded metric format: the values as members, and their declaration in _aws.
func (l *Lines) line(d worker.Digest, metrics []metric, members map[string]any) map[string]any {
	dimensions := []string{}
	line := map[string]any{}
	if l.o.Fleet != "" {
		dimensions = append(dimensions, DimensionFleet)
		line[DimensionFleet] = l.o.Fleet
	}
	maps.Copy(line, members)
	line["_aws"] = map[string]any{
		"Timestamp": d.Period.UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{"Namespace": l.o.Namespace, "Dimensions": [][]string{dimensions},
			"Metrics": metrics}},
	}
	return line
}

// expand repeats each value by its count, up to most values in all. Beyond that, evenly spaced values stand for all.
func expand(values []Value, most int64) []float64 {
	var count int64
	sum := 0.0
	for _, v := range values {
		count += v.Count
		sum += v.Seconds * float64(v.Count)
	}
	n := min(count, most)
	all := make([]float64, 0, n)
	i, seen, shown := 0, int64(0), 0.0
	for k := range n {
		rank := (2*k + 1) * count / (2 * n) // the middle of the k-th of n equal parts
		for seen+values[i].Count <= rank {
			seen += values[i].Count
			i++
		}
		all = append(all, values[i].Seconds)
		shown += values[i].Seconds
	}
	if shown > 0 {
		for k := range all {
			all[k] *= sum / float64(count) * float64(n) / shown
		}
	}
	return all
}
