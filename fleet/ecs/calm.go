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

// wholeEvery is how often a whole look is taken although nothing has changed. It is well below the time before the end
// of a protection at which that is renewed.
const wholeEvery = 6 * time.Minute

// calm sums up a service in which nothing goes on; it is empty for one in which something does. Whatever ECS does with
// the tasks of a service it tells in an event, so that as long as the newest one is the same and all that should run
// runs, the tasks are the same.
func calm(svc types.Service) string {
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

// calmTasks is the same for tasks without a service: those that are to run, by their ARNs.
func calmTasks(arns []string) string {
	arns = slices.Clone(arns)
	slices.Sort(arns)
	return "tasks " + strings.Join(arns, " ")
}

// begin begins a whole look: what is expected from now on asks for another one.
func (l *lookout) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = false
}

// same returns the last whole look as one of the instant at, where nothing has changed since by what sums it up, nobody
// expects anything, and it is not too long ago.
func (l *lookout) same(at time.Time, calm string) (muster.Listing, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if calm == "" || calm != l.calm || l.expected || l.failure != nil || at.Sub(l.wholeAt) >= wholeEvery {
		return muster.Listing{}, false
	}
	listing := l.listing
	listing.At = at
	return listing, true
}

// whole notes a whole look, and what sums it up: nothing where a member is on its way, ended lately, or could be
// stopped.
func (l *lookout) whole(listing muster.Listing, calm string) muster.Listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wholeAt, l.calm = listing.At, calm
	if s := listing.Service; s != nil && s.Spare > 0 ||
		slices.ContainsFunc(listing.Members, func(m muster.Member) bool { return m.Ended || !m.Serving || m.Exposed }) {
		l.calm = ""
	}
	return listing
}
