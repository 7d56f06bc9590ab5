package notice

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster/incident"
)

// Options configure a [Sender].
type Options struct {
	Destinations []Destination
	// Waiting are the notices by the names of channels that an earlier Sender left; those of channels that no longer
	// exist are dropped.
	Waiting map[string][]incident.Notice
	// Changed is called, from several goroutines, when waiting notices changed; nil is allowed. It must not block.
	Changed func()
	// Logger gets the failures; nil discards them.
	Logger *slog.Logger
}

// Status is the state of one channel.
type Status struct {
	Channel string `json:"channel"`
	// Waiting counts the notices that wait for their delivery.
	Waiting int `json:"waiting"`
	// Sent counts the delivered notices, Failed the failed attempts, Lost the notices that were refused or whose retry
	// time was over, and Dropped those that a full queue dropped; all since the start of the program.
	Sent    int64 `json:"sent"`
	Failed  int64 `json:"failed"`
	Lost    int64 `json:"lost"`
	Dropped int64 `json:"dropped"`
	// LastError is the error of the last attempt, and LastErrorAt its time; both are absent after a success.
	LastError   string    `json:"last_error,omitzero"`
	LastErrorAt time.Time `json:"last_error_at,omitzero"`
}

// Sender sends notices to all its destinations. Its methods may be called from any goroutine, Run once.
type Sender struct {
	o      Options
	queues []*line
}

// line is the queue of one destination.
type line struct {
	Destination
	wake chan struct{} // has room for one wake

	mu      sync.Mutex
	waiting []waiting
	status  Status
}

// waiting is a notice that waits. firstAt is when its first attempt began; zero before.
type waiting struct {
	notice  incident.Notice
	firstAt time.Time
}

// New returns a sender that sends nothing until [Sender.Run].
func New(o Options) *Sender {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	s := &Sender{o: o}
	for _, d := range o.Destinations {
		q := &line{Destination: d, wake: make(chan struct{}, 1), status: Status{Channel: d.Name}}
		for _, n := range o.Waiting[d.Name] {
			q.add(n)
		}
		s.queues = append(s.queues, q)
	}
	return s
}

// Tell queues a notice for each channel that accepts its kind of incident. It never blocks.
func (s *Sender) Tell(n incident.Notice) {
	for _, q := range s.queues {
		if q.Tells != nil && n.Event != incident.Test && !q.Tells(n.Incident.Kind) {
			continue
		}
		if q.add(n) {
			s.o.Logger.Warn("a notice was dropped, because too many wait for the channel", "channel", q.Name, "waiting",
				MaxWaiting)
		}
	}
	s.o.Changed()
}

// add queues a notice, and tells whether the oldest one was dropped for it. The notice that is being sent is the first
// one; it is dropped too, because the newest say what is wrong now.
func (q *line) add(n incident.Notice) (dropped bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, waiting{notice: n})
	if dropped = len(q.waiting) > MaxWaiting; dropped {
		q.waiting = slices.Delete(q.waiting, 0, 1)
		q.status.Dropped++
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return dropped
}

// Run sends until ctx ends. It returns when all its goroutines have ended; an attempt that ctx interrupts counts as not
// made, so that its notice waits.
func (s *Sender) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, q := range s.queues {
		all.Go(func() { s.serve(ctx, q) })
	}
	all.Wait()
}

// serve sends the notices of one channel, one after the other.
func (s *Sender) serve(ctx context.Context, q *line) {
	failures := 0
	for {
		first, ok := q.first(time.Now())
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-q.wake:
			}
			continue
		}
		err := attempt(ctx, q.Channel, first.notice)
		if ctx.Err() != nil {
			return
		}
		now := time.Now()
		over := errors.Is(err, ErrRefused) || now.Sub(first.firstAt) >= q.Retry
		q.done(first.notice.ID, err, over, now)
		switch {
		case err == nil:
			failures = 0
			s.o.Changed()
			continue
		case over:
			failures = 0
			s.o.Logger.Error("a notice could not be delivered and is given up", "channel", q.Name, "notice",
				first.notice.ID, "error", err)
			s.o.Changed()
			continue
		}
		s.o.Logger.Warn("a notice could not be delivered, and is tried again", "channel", q.Name, "notice",
			first.notice.ID, "error", err)
		failures++
		pause := time.NewTimer(min(Pause(failures, rand.Float64()), max(0, first.firstAt.Add(q.Retry).Sub(now))))
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// Pause returns the pause after so many failures in a row, 1 or more, for a random number from 0 to 1: half of the
// doubled pause, and up to as much again.
func Pause(failures int, random float64) time.Duration {
	whole := LongestPause
	if failures < 16 {
		whole = min(LongestPause, FirstPause<<max(0, failures-1))
	}
	return whole/2 + time.Duration(random*float64(whole/2))
}

// attempt sends a notice once.
func attempt(ctx context.Context, c Channel, n incident.Notice) error {
	ctx, stop := context.WithTimeout(ctx, SendTimeout)
	defer stop()
	_, err := c.Send(ctx, n)
	return err
}

// first returns the notice to send at now.
func (q *line) first(now time.Time) (waiting, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return waiting{}, false
	}
	if q.waiting[0].firstAt.IsZero() {
		q.waiting[0].firstAt = now
	}
	return q.waiting[0], true
}

// done notes the result of an attempt. over means that there will be no other. The notice may have been dropped during
// the attempt.
func (q *line) done(id string, err error, over bool, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil || over {
		q.waiting = slices.DeleteFunc(q.waiting, func(w waiting) bool { return w.notice.ID == id })
	}
	if err == nil {
		q.status.Sent++
		q.status.LastError, q.status.LastErrorAt = "", time.Time{}
		return
	}
	q.status.Failed++
	if over {
		q.status.Lost++
	}
	q.status.LastError, q.status.LastErrorAt = incident.Line(err.Error(), incident.MaxSentence), now.UTC().Round(0)
}

// Status returns the state of each channel, in the order of the destinations.
func (s *Sender) Status() []Status {
	all := []Status{}
	for _, q := range s.queues {
		q.mu.Lock()
		x := q.status
		x.Waiting = len(q.waiting)
		q.mu.Unlock()
		all = append(all, x)
	}
	return all
}

// Waiting returns the notices that wait, by the names of channels.
func (s *Sender) Waiting() map[string][]incident.Notice {
	all := map[string][]incident.Notice{}
	for _, q := range s.queues {
		q.mu.Lock()
		for _, w := range q.waiting {
			all[q.Name] = append(all[q.Name], w.notice)
		}
		q.mu.Unlock()
	}
	return all
}

// Answer is what a channel answered to a test notice.
type Answer struct {
	Channel string `json:"channel"`
	// Answer is what the other side said; empty after an error.
	Answer string `json:"answer,omitzero"`
	// Error says why the notice was not delivered; empty if it was.
	Error string `json:"error,omitzero"`
}

// Try sends a notice once to each destination, all at the same time, and returns the answers in their order.
func Try(ctx context.Context, to []Destination, n incident.Notice) []Answer {
	answers := make([]Answer, len(to))
	var all sync.WaitGroup
	for i, d := range to {
		all.Go(func() {
			ctx, stop := context.WithTimeout(ctx, SendTimeout)
			defer stop()
			answers[i] = Answer{Channel: d.Name}
			said, err := d.Send(ctx, n)
			if err != nil {
				answers[i].Error = incident.Line(err.Error(), incident.MaxSentence)
				return
			}
			answers[i].Answer = incident.Line(said, incident.MaxSentence)
		})
	}
	all.Wait()
	return answers
}
