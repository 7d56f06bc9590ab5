package learning

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// appendJSON appends the JSON of l as encoding/json would write it, without reflection: every fleet records every few
// seconds, and reflection would take a tenth of a step. usual is false, and b of no use, for rare fields and numbers;
// the caller then uses encoding/json. A test compares the two.
func (l Flush) appendJSON(b []byte) (_ []byte, usual bool) {
	if !none(l.Boots) || !none(l.WarmBoots) || l.Classes != nil || l.Crowded != nil || l.Counted || l.Came != nil ||
		len(l.sent) > 1 ||
		l.Failed != 0 || !none(l.Failing) || l.Dead != 0 {
		return b, false
	}
	usual = true
	number := func(v float64) {
		if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) || math.IsNaN(v) {
			usual = false
		}
		b = strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	b = append(b, '{')
	if p := l.Processing; p.Count != 0 || p.SumSeconds != 0 || p.Buckets != nil {
		b = append(b, `"processing":{"count":`...)
		b = strconv.AppendInt(b, p.Count, 10)
		b = append(b, `,"sum_s":`...)
		number(p.SumSeconds)
		if p.Buckets != nil {
			b = appendBuckets(append(b, `,"buckets":`...), p.Buckets)
		}
		b = append(b, `},`...)
	}
	if l.Arrived != 0 {
		b = append(b, `"arrived":`...)
		number(l.Arrived)
		b = append(b, ',')
	}
	if !l.Since.IsZero() {
		if _, offset := l.Since.Zone(); offset != 0 || l.Since.Year() < 0 || l.Since.Year() > 9999 {
			return b, false
		}
		b = append(l.Since.AppendFormat(append(b, `"since":"`...), time.RFC3339Nano), `",`...)
	}
	b = append(b, `"sent":{`...)
	for _, c := range l.sent {
		if !plain(c.queue) {
			return b, false
		}
		b = append(append(append(b, '"'), c.queue...), `":`...)
		number(c.n)
	}
	b = append(b, '}')
	if l.Finished != 0 {
		b = append(b, `,"finished":`...)
		number(l.Finished)
	}
	if l.Ended != 0 {
		b = append(b, `,"ended":`...)
		number(l.Ended)
	}
	if l.InTime != 0 {
		b = append(b, `,"in_time":`...)
		number(l.InTime)
	}
	if u := l.Usage; u != (protocol.Usage{}) {
		b = strconv.AppendInt(append(b, `,"usage":{"calls":`...), u.Calls, 10)
		b = append(b, `,"wall_s":`...)
		number(u.WallSeconds)
		b = append(b, `,"cpu_s":`...)
		number(u.CPUSeconds)
		if u.PeakBytes != 0 {
			b = strconv.AppendInt(append(b, `,"peak_bytes":`...), u.PeakBytes, 10)
		}
		if u.Cores != 0 {
			b = append(b, `,"cores":`...)
			number(u.Cores)
		}
		if u.MemoryBytes != 0 {
			b = strconv.AppendInt(append(b, `,"memory_bytes":`...), u.MemoryBytes, 10)
		}
		b = append(b, '}')
	}
	return append(b, '}'), usual
}

// none tells whether a histogram is empty.
func none(d series.Durations) bool { return d.Count == 0 && len(d.Buckets) == 0 && d.SumSeconds == 0 }

// JSON returns the body of the record if the fast encoder can write it; otherwise false, and the caller encodes
// [Flush.Body].
func (l Flush) JSON() ([]byte, bool) {
	var buffer [1024]byte // on the stack; enough for nearly all records
	text, usual := l.appendJSON(buffer[:0])
	return slices.Clone(text), usual
}

// Body returns the body of the record.
func (l Flush) Body() Learned {
	l.Sent = make(map[string]float64, len(l.sent))
	for _, c := range l.sent {
		l.Sent[c.queue] = c.n
	}
	return l.Learned
}

// plain tells whether encoding/json writes a string without escapes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// appendBuckets appends the JSON of buckets.
func appendBuckets(b []byte, buckets []series.Bucket) []byte {
	b = append(b, '[')
	for i, x := range buckets {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `{"i":`...), int64(x.Index), 10)
		b = strconv.AppendInt(append(b, `,"n":`...), x.Count, 10)
		b = append(b, '}')
	}
	return append(b, ']')
}
