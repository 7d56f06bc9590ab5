package sqs

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/time/rate"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/render"
)

const (
	// emptyReadings and emptyFor are how many readings in a row, over how long, must show a queue empty.
	emptyReadings = 3
	emptyFor      = 20 * time.Second
	// secondReading is how long after a change a FIFO queue is read again.
	secondReading = time.Second
	fifoSuffix    = ".fifo"
	// settles is the usual lag of the counts; AWS promises no more than a minute after the last send.
	settles = time.Second
	// burst is how many readings events may cause at once. Further ones are a second apart.
	burst = 10
	// exactEvery is the shortest interval between readings of a queue on this machine.
	exactEvery = 50 * time.Millisecond
)

// Options say how queues are read. Account is required.
type Options struct {
	Account *awsapi.Account
	// Metrics reads the queues' CloudWatch metrics; nil leaves ages and rates unknown.
	Metrics Metrics
}

// Queues makes the sources of queues: one for each, shared by all fleets. Several goroutines may use it.
type Queues struct {
	o Options

	mu  sync.Mutex
	all map[string]*Source
}

// NewQueues returns Queues. It makes no call.
func NewQueues(o Options) *Queues { return &Queues{o: o, all: map[string]*Source{}} }

// Queue returns the source of the queue with the given URL. It is read at the interval every while it changes;
// otherwise at that interval or twice a minute, whichever is rarer. Zero means 5 s, and the shortest requested interval
// wins. Queue makes no call.
//
// A queue on this machine is not Amazon's: its counts are exact, so they are believed at once, and it may be read at
// any rate.
func (q *Queues) Queue(queueURL string, every time.Duration) (*Source, error) {
	every = cmp.Or(every, awsapi.Fast)
	q.mu.Lock()
	defer q.mu.Unlock()
	if s, ok := q.all[queueURL]; ok {
		s.atLeast(every)
		return s, nil
	}
	cfg, err := q.o.Account.Queue(queueURL)
	if err != nil {
		return nil, err
	}
	s := &Source{
		client: sqs.NewFromConfig(cfg), url: queueURL, name: path.Base(strings.TrimRight(queueURL, "/")),
		region: cfg.Region,
		pace:   awsapi.Pace{Fast: every, Slow: awsapi.Slow}, turn: make(chan struct{}, 1),
		listeners: map[chan struct{}]struct{}{},
		exact:     awsapi.Local(queueURL),
		limit:     rate.NewLimiter(rate.Every(secondReading), burst),
	}
	if s.exact {
		s.limit = rate.NewLimiter(rate.Every(exactEvery), 1)
		s.pace = awsapi.Pace{Fast: exactEvery, Slow: exactEvery}
	}
	if q.o.Metrics != nil && !s.exact {
		s.metrics = metricsOf(q.o.Metrics, cfg.Region, s.name)
	}
	q.all[queueURL] = s
	return s, nil
}

// atLeast makes every the longest interval between readings while the queue changes.
func (s *Source) atLeast(every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace.Fast = min(s.pace.Fast, every)
}

// attributes is the only call that a source makes.
type attributes interface {
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput,
		...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// Source measures one SQS queue. It implements [muster.Source], [muster.Notifier] and [muster.Expecter].
type Source struct {
	client            attributes
	url, name, region string
	metrics           *queueMetrics
	// exact is true for a queue on this machine.
	exact bool
	// turn is a lock for reading.
	turn chan struct{}

	mu   sync.Mutex
	pace awsapi.Pace
	// last is the last reading, or failure its error; both are empty before the first.
	last    *muster.QueueObservation
	failure error
	// counts are those of the last successful reading. zeros is how many readings in a row were all zero, since zeroAt.
	counts [3]float64
	// seen is true after the first reading, whose time and those of later ones is readAt.
	seen   bool
	readAt time.Time
	zeros  int
	zeroAt time.Time
	// emptyAt is when the queue last counted as empty.
	emptyAt time.Time
	// again is true while a second reading is due; waking is true while a timer for one runs.
	again  bool
	waking bool
	// limit bounds the readings that events cause. eventAt is the time of the last event, startedAt that of the last
	// call: a call that began before an event may not have counted its message.
	limit              *rate.Limiter
	eventAt, startedAt time.Time
	listeners          map[chan struct{}]struct{}
}

var (
	_ muster.Source   = (*Source)(nil)
	_ muster.Notifier = (*Source)(nil)
	_ muster.Expecter = (*Source)(nil)
)

// Observe implements [muster.Source] with at most one GetQueueAttributes call.
func (s *Source) Observe(ctx context.Context) (muster.QueueObservation, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return muster.QueueObservation{}, fmt.Errorf("measure the queue %s: %w", s.url, ctx.Err())
	}
	q, err, fresh := s.cached(time.Now())
	if !fresh {
		q, err = s.read(ctx)
	}
	if err != nil {
		return muster.QueueObservation{}, err
	}
	if s.metrics != nil {
		s.metrics.fill(ctx, &q)
		s.clip(&q)
	}
	return q, nil
}

// clip limits an age that predates the last time the queue was empty: no waiting message is older than that.
func (s *Source) clip(q *muster.QueueObservation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since := q.Backlog.At.Sub(s.emptyAt); q.OldestAge.Known && s.emptyAt.After(q.OldestAge.At) &&
		q.OldestAge.Value > since.Seconds() {
		q.OldestAge = muster.Measured(q.Backlog.At, since.Seconds())
	}
}

// cached returns the last reading, if the next is not due.
func (s *Source) cached(now time.Time) (q muster.QueueObservation, err error, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pace.Due(now) || s.last == nil && s.failure == nil {
		return q, nil, false
	}
	if s.failure != nil {
		return q, s.failure, true
	}
	return *s.last, nil, true
}

// counted are the attributes with counts, in the order of Source.counts.
var counted = [3]types.QueueAttributeName{
	types.QueueAttributeNameApproximateNumberOfMessages,
	types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
}

// read reads the counts once. A count that is missing or no number is unknown for itself alone. The caller has the
// turn.
func (s *Source) read(ctx context.Context) (muster.QueueObservation, error) {
	s.mu.Lock()
	s.startedAt = time.Now()
	s.limit.AllowN(s.startedAt, 1) // a poll that is due anyway is not refused
	s.mu.Unlock()
	out, err := s.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: aws.String(s.url),
		AttributeNames: counted[:]})
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		err = awsapi.Explain("measure the queue "+s.url, s.region, err)
		if ctx.Err() == nil {
			s.last, s.failure = nil, err
			s.pace.Failed(now)
		}
		return muster.QueueObservation{}, err
	}
	at := now.UTC().Round(0)
	var samples [3]muster.Sample
	whole := true
	counts := s.counts
	for i, name := range counted {
		text, given := out.Attributes[string(name)]
		v, err := strconv.ParseFloat(text, 64)
		samples[i] = muster.Measured(at, v)
		if !given || err != nil {
			samples[i] = muster.Unknown(at, fmt.Sprintf("found %q as %s of the queue, a number is allowed", text, name))
		}
		counts[i] = samples[i].Value
		whole = whole && samples[i].Known
	}
	s.paced(now, counts)
	if whole && !s.exact {
		s.believe(at, &samples)
	}
	s.failure = nil
	late := 0.0
	if !s.exact && !s.readAt.IsZero() {
		// A new message may have come right after the last reading.
		late = (settles + min(max(0, now.Sub(s.readAt)), awsapi.Slow)).Seconds()
	}
	s.readAt = now
	s.last = &muster.QueueObservation{
		Queue: s.url, Backlog: samples[0], InFlight: samples[1], Delayed: samples[2],
		LateSeconds: late,
		OldestAge:   muster.Unknown(at, "SQS does not tell the age of the oldest message in its attributes"),
	}
	return *s.last, nil
}

// paced schedules the next reading. The caller holds the lock.
func (s *Source) paced(now time.Time, counts [3]float64) {
	changed := s.seen && counts != s.counts
	s.pace.Looked(now, changed || !s.seen)
	s.counts, s.seen = counts, true
	if s.eventAt.After(s.startedAt) {
		s.pace.ExpectAt(now.Add(s.wait(now))) // an event came during the call
	}
	second := s.again
	s.again = false
	if changed && !second && strings.HasSuffix(s.name, fifoSuffix) {
		s.again = true
		s.pace.Within(now, secondReading)
		time.AfterFunc(secondReading, s.wake)
	}
}

// believe makes the counts of an empty queue unknown until several readings have shown it empty. The caller holds the
// lock.
func (s *Source) believe(at time.Time, samples *[3]muster.Sample) {
	if samples[0].Value+samples[1].Value+samples[2].Value > 0 {
		s.zeros = 0
		return
	}
	if s.zeros == 0 {
		s.zeroAt = at
	}
	s.zeros++
	if over := at.Sub(s.zeroAt); s.zeros < emptyReadings || over < emptyFor {
		why := fmt.Sprintf("SQS shows the queue empty; its counts are approximate and late, so that is believed "+
			"after %d readings in a row over %s, this was number %d after %s",
			emptyReadings, render.Seconds(emptyFor.Seconds()), s.zeros, render.Seconds(over.Seconds()))
		s.pace.Within(at, s.pace.Fast)
		for i := range samples {
			samples[i] = muster.Doubt(at, why)
		}
		return
	}
	s.emptyAt = at
}

// Expect implements [muster.Expecter]. However often it is called, readings are a second apart after a burst of 10. A
// queue whose counts may lag is read again a second later, because the message that the event announced may not be
// counted yet, and the next poll may be an hour away.
func (s *Source) Expect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	wait := s.wait(now)
	s.pace.ExpectAt(now.Add(wait))
	s.again, s.eventAt = false, now
	switch {
	case wait > 0:
		s.follow(wait)
	case !s.exact:
		s.follow(secondReading)
	}
}

// wait returns how long the next reading for an event must wait. The caller holds the lock.
func (s *Source) wait(now time.Time) time.Duration {
	missing := 1 - s.limit.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing/float64(s.limit.Limit())*float64(time.Second)) + 1
}

// follow wakes the listeners after a while for a reading that the last event still needs: the first one after it, or
// the one a second later. The caller holds the lock.
func (s *Source) follow(after time.Duration) {
	if s.waking {
		return
	}
	s.waking = true
	time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waking = false
		now, settled := time.Now(), s.eventAt.Add(secondReading)
		pending := s.startedAt.Before(s.eventAt)
		wait := s.wait(now)
		switch {
		case !pending && (s.exact || !s.startedAt.Before(settled)):
			return // a poll has read it in between
		case !pending && now.Before(settled):
			s.follow(settled.Sub(now))
			return
		case wait > 0:
			s.follow(wait)
			return
		}
		s.pace.Within(now, 0)
		s.wakeAll()
		if now.Before(settled) && !s.exact {
			s.follow(settled.Sub(now))
		}
	})
}

// Wakes implements [muster.Notifier]: it fires only for second readings.
func (s *Source) Wakes() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[c] = struct{}{}
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, c)
	}
}

// wake wakes all listeners.
func (s *Source) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAll()
}

// wakeAll wakes all listeners; one that has not consumed the last wake-up needs no second one. The caller holds the
// lock.
func (s *Source) wakeAll() {
	for c := range s.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
