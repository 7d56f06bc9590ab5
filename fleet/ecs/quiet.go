package ecs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/muster-scale/muster"
)

// This file decides whether the tasks must be read, or the last reading still holds. A fleet of a hundred tasks costs
// one cheap call a poll while it is quiet, instead of several, and AWS limits the calls of an account.

// wholeEvery is how often to read everything although nothing has changed. It is well below renewAt, so that a
// protection that is about to end is seen in time.
const wholeEvery = 6 * time.Minute

// quietService returns a fingerprint of a quiet service; it is empty for one that is changing. ECS reports every action
// on a service's tasks as an event. So as long as the newest event is the same, and all desired tasks run, the tasks
// are the same.
func quietService(svc types.Service) string {
	if svc.RunningCount != svc.DesiredCount || svc.PendingCount != 0 || len(svc.Deployments) > 1 ||
		len(svc.Events) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d %s %s %s %v", svc.DesiredCount, aws.ToString(svc.Status), aws.ToString(svc.TaskDefinition),
		aws.ToString(svc.Events[0].Id), strategy(svc))
	for _, d := range svc.Deployments {
		text += fmt.Sprintf(" %s %d %d %s", aws.ToString(d.Id), d.RunningCount, d.FailedTasks,
			aws.ToTime(d.UpdatedAt).UTC())
	}
	return text
}

// quietTasks returns the fingerprint of tasks without a service: the ARNs of the running ones.
func quietTasks(arns []string) string {
	arns = slices.Clone(arns)
	slices.Sort(arns)
	return "tasks " + strings.Join(arns, " ")
}

// begin begins a full reading: an Expect from now on demands another one.
func (l *taskReader) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = false
}

// same returns the last full reading as one of the time at, if its fingerprint is unchanged, Expect was not called, and
// it is not too old.
func (l *taskReader) same(at time.Time, quiet string) (muster.Listing, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if quiet == "" || quiet != l.quiet || l.expected || l.failure != nil || at.Sub(l.wholeAt) >= wholeEvery {
		return muster.Listing{}, false
	}
	listing := l.listing
	listing.At = at
	return listing, true
}

// whole stores a full reading and its fingerprint. It stores no fingerprint while a member is starting, has just ended,
// or may be stopped.
func (l *taskReader) whole(listing muster.Listing, quiet string) muster.Listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wholeAt, l.quiet = listing.At, quiet
	if s := listing.Service; s != nil && s.Spare > 0 ||
		slices.ContainsFunc(listing.Members, func(m muster.Member) bool { return m.Ended || !m.Serving || m.Exposed }) {
		l.quiet = ""
	}
	return listing
}
