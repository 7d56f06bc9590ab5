package trace

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/muster-scale/muster/sim/trace/internal/chance"
)

// The columns of counts. A line has either the length of its interval, where intervals follow one another from 0, or
// the start of it, where an interval ends at the next start and the last one is as long as the one before.
const (
	columnInterval = "interval_s"
	columnStart    = "start_s"
	columnCount    = "count"
)

// countsReader makes messages of counts. The arrivals of an interval are spread evenly, or where a Poisson process
// would have put so many; services are drawn from a lognormal law. It keeps the present interval and, where lines have
// starts, the next one.
type countsReader struct {
	*lines
	// row has the fields of the present line; time and count are the indices of two of them.
	row    fields
	time   int // the field with the time
	count  int
	starts bool // the time is when the interval begins
	// spread and arrivals place the messages, and service draws their work.
	spread   Spread
	arrivals *chance.Stream
	service  func() time.Duration

	from, length time.Duration
	made, of     int64   // messages of the interval that were returned, and all of it
	place        float64 // for random: logarithm of the share of the interval behind the newest message

	nextFrom  time.Duration // the interval that was read ahead, when lines have starts
	nextCount int64
	ahead     bool
	ended     bool

	// last is the newest arrival, total how many messages were returned, and failed the error that ended the reading.
	last   time.Duration
	total  int64
	failed error
}

// newCounts reads the header.
func newCounts(l *lines, o Options) (Reader, error) {
	if o.Service <= 0 {
		return nil, l.whole(errors.New("found counts, which do not say how long the work takes: give the mean " +
			"service, as in --service 10s"))
	}
	line, err := l.next()
	if err == io.EOF {
		return nil, l.whole(ErrEmpty)
	}
	if err != nil {
		return nil, err
	}
	// A header with the starts of intervals is recognised by its column; otherwise lengths are expected.
	required := []string{columnInterval, columnCount}
	if slices.Contains(splitNames(line), columnStart) {
		required[0] = columnStart
	}
	found, err := header(line, required, []string{columnInterval, columnStart, columnCount})
	if err == nil && len(found) != 2 {
		err = fmt.Errorf("found the columns %s and %s, want one of them", columnInterval, columnStart)
	}
	if err != nil {
		return nil, l.fault(err)
	}
	// Services and arrivals have streams of their own, so another spread does not change the services.
	services, unit := chance.New(o.Seed, chance.ForServices), chance.Lognormal(o.ServiceCV)
	return &countsReader{
		lines: l, row: fields{names: found}, time: slices.Index(found, required[0]),
		count:  slices.Index(found, columnCount),
		starts: required[0] == columnStart, spread: o.Spread, arrivals: chance.New(o.Seed, chance.ForArrivals),
		service: func() time.Duration { return toService(o.Service.Seconds() * unit(services)) },
	}, nil
}

// Next returns the next message.
func (r *countsReader) Next() (Message, error) {
	for r.failed == nil && r.made == r.of {
		if r.failed = r.interval(); r.failed == io.EOF && r.total == 0 {
			r.failed = r.whole(ErrEmpty)
		}
	}
	if r.failed != nil {
		return Message{}, r.failed
	}
	offset := r.even()
	if r.spread == SpreadPoisson {
		offset = r.random()
	}
	r.made++
	r.total++
	// Rounding must not put a message before the one before it.
	r.last = max(r.last, r.from+offset)
	return Message{Arrival: r.last, Service: r.service()}, nil
}

// even returns the offset of the next message: the middle of its share of the interval. It computes with 128 bits, so
// that long intervals with many messages do not overflow.
func (r *countsReader) even() time.Duration {
	high, low := bits.Mul64(uint64(r.length), uint64(2*r.made+1))
	offset, _ := bits.Div64(high, low, uint64(2*r.of))
	return time.Duration(offset)
}

// random returns the offset of the next message among independent uniform ones, in ascending order. The share of the
// interval behind the k-th of n messages is the share behind the one before times U^(1/(n-k+1)), with U uniform. So no
// sorting is needed, and memory does not grow with the count.
func (r *countsReader) random() time.Duration {
	r.place += chance.Ln(1-r.arrivals.Uniform()) / float64(r.of-r.made)
	share := 1 - chance.Exp(r.place)
	return min(time.Duration(share*float64(r.length)), r.length-1)
}

// interval reads the next interval, and io.EOF after the last one.
func (r *countsReader) interval() error {
	if !r.starts {
		length, n, err := r.line()
		if err != nil {
			return err
		}
		return r.begin(r.from+r.length, length, n)
	}
	if !r.ahead {
		if r.ended {
			return io.EOF
		}
		from, n, err := r.line()
		if err != nil {
			return err
		}
		r.nextFrom, r.nextCount, r.ahead = from, n, true
	}
	from, n := r.nextFrom, r.nextCount
	next, nextCount, err := r.line()
	switch {
	// The last interval is as long as the one before it, which the only interval does not have.
	case err == io.EOF && r.length == 0:
		return r.fault(fmt.Errorf("found one %s, which does not say how long the interval is: use %s", columnStart,
			columnInterval))
	case err == io.EOF:
		r.ahead, r.ended = false, true
		return r.begin(from, r.length, n)
	case err != nil:
		return err
	case next < from:
		return r.fault(unsorted(seconds(next), seconds(from)))
	}
	r.nextFrom, r.nextCount = next, nextCount
	return r.begin(from, next-from, n)
}

// begin makes an interval the present one, after checking it.
func (r *countsReader) begin(from, length time.Duration, n int64) error {
	switch {
	case length <= 0:
		return r.fault(errors.New("found an interval of length 0, want each longer than that"))
	case from+length > MaxTime:
		return r.fault(tooLong("end of the interval", seconds(from+length)))
	case n > MaxMessages-r.total:
		return r.fault(tooMany())
	}
	r.from, r.length, r.made, r.of, r.place = from, length, 0, n, 0
	return nil
}

// line reads the time and the count of one line.
func (r *countsReader) line() (at time.Duration, n int64, err error) {
	line, err := r.next()
	if err != nil {
		return 0, 0, err
	}
	if err := r.row.split(line); err != nil {
		return 0, 0, r.fault(err)
	}
	if at, err = parseSeconds(r.row.names[r.time], r.row.number(r.time)); err != nil {
		return 0, 0, r.fault(err)
	}
	text := r.row.number(r.count)
	if n, err = strconv.ParseInt(string(text), 10, 64); err != nil || n < 0 || n > MaxMessages {
		return 0, 0, r.fault(fmt.Errorf("found the count %q, want a whole number from 0 to %d", short(text),
			MaxMessages))
	}
	return at, n, nil
}
