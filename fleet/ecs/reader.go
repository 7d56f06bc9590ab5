package ecs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
)

const (
	// maxDescribed bounds the tasks of one call; maxPages bounds the pages of a list.
	maxDescribed = 100
	maxPages     = 100
	// rememberEnded is how long an ended task stays in the listing; ECS forgets it after about an hour.
	rememberEnded = 10 * time.Minute
	// settle is how long ECS may not know a task that it has just started.
	settle = 2 * time.Minute
)

// taskReader keeps the last reading of a fleet's tasks, says when the next is due, and remembers tasks across readings:
// ECS lists a started task late, and forgets an ended one.
type taskReader struct {
	// reading is a lock for a reading, so that several callers at once cost one.
	reading chan struct{}

	mu          sync.Mutex
	pace        awsapi.Pace
	listing     muster.Listing
	failure     error
	fingerprint string
	// wholeAt is when all tasks were last read, and quiet the fingerprint of that reading; empty if something was
	// changing. expected is true after an Expect since.
	wholeAt  time.Time
	quiet    string
	expected bool
	// known is since when each task is known that lived at the last reading or was started since, by id. ended are
	// those that ended recently.
	known map[string]time.Time
	ended map[string]ending
}

// ending is an ended member, and when its end was seen.
type ending struct {
	muster.Member
	at time.Time
}

func newTaskReader(every time.Duration) *taskReader {
	return &taskReader{
		reading: make(chan struct{}, 1), pace: awsapi.Pace{Fast: every, Slow: awsapi.Slow},
		known: map[string]time.Time{}, ended: map[string]ending{},
	}
}

// expect makes the next reading a fresh one.
func (l *taskReader) expect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace.Expect()
	l.expected = true
}

// cached returns the last reading or its failure; the last result tells whether it still counts.
func (l *taskReader) cached() (muster.Listing, error, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	listed := !l.listing.At.IsZero() || l.failure != nil
	return l.listing, l.failure, listed && !l.pace.Due(time.Now())
}

// members returns the last reading, or calls read when the next is due.
func (l *taskReader) members(ctx context.Context, read func(context.Context) (muster.Listing, error)) (muster.Listing,
	error) {
	select {
	case l.reading <- struct{}{}:
		defer func() { <-l.reading }()
	case <-ctx.Done():
		return muster.Listing{}, fmt.Errorf("list tasks: %w", ctx.Err())
	}
	if listing, err, fresh := l.cached(); fresh {
		return listing, err
	}
	listing, err := read(ctx)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.expected = true
		if ctx.Err() == nil {
			l.listing, l.failure = muster.Listing{}, err
			l.pace.Failed(now)
		}
		return muster.Listing{}, err
	}
	fingerprint := fingerprintOf(listing)
	l.pace.Looked(now, fingerprint != l.fingerprint)
	l.listing, l.failure, l.fingerprint = listing, nil, fingerprint
	return listing, nil
}

// fingerprintOf returns a fingerprint of a listing, which changes when the listing does.
func fingerprintOf(l muster.Listing) string {
	text := ""
	if l.Service != nil {
		text = fmt.Sprint(l.Service.Desired, l.Service.Spare)
	}
	for _, m := range l.Members {
		text += fmt.Sprintf(" %s %t %t %t", m.ID, m.Ended, m.Serving, m.Exposed)
	}
	return text
}

// list returns the ARNs of tasks.
func (p place) list(ctx context.Context, in ecs.ListTasksInput) (arns []string, err error) {
	in.Cluster = aws.String(p.cluster)
	for range maxPages {
		out, err := p.ecs.ListTasks(ctx, &in)
		if err != nil {
			return nil, p.explain("list the tasks of", err)
		}
		arns = append(arns, out.TaskArns...)
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return arns, nil
		}
	}
	return nil, fmt.Errorf("list the tasks of %s: found more than %d pages of them, allowed are up to that", p.what,
		maxPages)
}

// describe returns tasks by their ids or ARNs. Tasks that ECS does not know, or not yet, are missing.
func (p place) describe(ctx context.Context, ids []string) (all []types.Task, err error) {
	for batch := range slices.Chunk(ids, maxDescribed) {
		out, err := p.ecs.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: aws.String(p.cluster), Tasks: batch})
		if err != nil {
			return nil, p.explain("describe the tasks of", err)
		}
		all = append(all, out.Tasks...)
	}
	return all, nil
}

// lives tells whether a task has neither ended nor been stopped.
func lives(t types.Task) bool {
	return aws.ToString(t.DesiredStatus) != "STOPPED" && aws.ToString(t.LastStatus) != "STOPPED"
}

// seen is one reading of tasks.
type seen struct {
	// living are the tasks that have not been stopped, oldest first. members are these and the recently ended ones.
	living  []types.Task
	members []muster.Member
}

// sort reads the tasks with these ARNs, and the known tasks that are missing among them: a list may lag behind. It
// turns all of them into members.
func (l *taskReader) sort(ctx context.Context, p place, at time.Time, arns []string) (seen, error) {
	ids := make([]string, 0, len(arns))
	for _, arn := range arns {
		ids = append(ids, last(arn))
	}
	l.mu.Lock()
	ids = slices.AppendSeq(ids, maps.Keys(l.known))
	l.mu.Unlock()
	slices.Sort(ids)
	ids = slices.Compact(ids)
	tasks, err := p.describe(ctx, ids)
	if err != nil {
		return seen{}, err
	}
	slices.SortFunc(tasks, func(a, b types.Task) int {
		return cmp.Or(aws.ToTime(a.CreatedAt).Compare(aws.ToTime(b.CreatedAt)),
			cmp.Compare(lastOf(a.TaskArn), lastOf(b.TaskArn)))
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.note(at, tasks), nil
}

// note records described tasks. The caller holds the lock.
func (l *taskReader) note(at time.Time, tasks []types.Task) (s seen) {
	known, described := map[string]time.Time{}, map[string]bool{}
	for _, t := range tasks {
		id := lastOf(t.TaskArn)
		described[id] = true
		since := at
		if t, ok := l.known[id]; ok {
			since = t
		}
		m := muster.Member{ID: id, LaunchedAt: since}
		if t.CreatedAt != nil {
			m.LaunchedAt = t.CreatedAt.UTC().Round(0)
		}
		if lives(t) {
			m.Serving = aws.ToString(t.LastStatus) == "RUNNING"
			known[id] = since
			s.living, s.members = append(s.living, t), append(s.members, m)
		} else if _, noted := l.ended[id]; !noted {
			m.Ended, m.Failure = true, whyEnded(t)
			l.ended[id] = ending{m, at}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.known)) {
		// ECS may not list at once what it has started.
		if since := l.known[id]; !described[id] && at.Sub(since) < settle {
			known[id] = since
			s.members = append(s.members, muster.Member{ID: id, LaunchedAt: since})
		}
	}
	l.known = known
	for _, id := range slices.Sorted(maps.Keys(l.ended)) {
		if e := l.ended[id]; at.Sub(e.at) < rememberEnded {
			s.members = append(s.members, e.Member)
			continue
		}
		delete(l.ended, id)
	}
	return s
}

// started records a task that was just started, so that it is read by name until a list contains it.
func (l *taskReader) started(at time.Time, arn string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id := last(arn); l.known[id].IsZero() {
		l.known[id] = at
	}
}
