package asg

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
)

const (
	// poolEvery is how often the instances of a warm pool are looked at while nothing changes; while something does, at
	// every look at the group.
	poolEvery = time.Minute
	// poolDenied is how often that is tried where it is not allowed.
	poolDenied = 10 * time.Minute
	// maxPoolPages bounds the reads of one look at a warm pool, of 50 instances each.
	maxPoolPages = 40
)

// prepared is what was seen of a group's warm pool.
type prepared struct {
	// at is when it was last asked for, and print what the group was like then; due is when to ask again in any case.
	at, due time.Time
	print   string
	// moving is true while instances are on their way into it.
	moving bool
	// ready is how many instances wait in it; nil where nobody can tell, for the reason failure.
	ready   *int
	failure string
	// from is when each instance was last seen in the pool or out of it, for those that were in it; strange are the
	// others of which nobody knows where they came from.
	from    map[string]time.Time
	strange map[string]bool
}

// pool brings what is known of the group's warm pool up to date with a look at the group. The caller does not hold the
// lock: only one look at a time gets here.
func (f *Fleet) pool(ctx context.Context, s seen, v survey) prepared {
	f.mu.Lock()
	p := f.prepared
	f.mu.Unlock()
	if v.WarmPoolConfiguration == nil {
		p = prepared{}
	} else if print := printOf(s.group); s.at.After(p.at) && (p.print != print || p.moving || !s.at.Before(p.due)) {
		p = f.readPool(ctx, s.at, print, v, p)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.prepared = p
	return p
}

// readPool reads the pool. What is in last is not changed.
func (f *Fleet) readPool(ctx context.Context, at time.Time, print string, v survey, last prepared) prepared {
	p := prepared{at: at, due: at.Add(poolEvery), print: print, from: map[string]time.Time{},
		strange: map[string]bool{}}
	instances, err := f.poolInstances(ctx)
	if err != nil {
		p.failure, p.from = err.Error(), last.from
		if awsapi.KindOf(err) == awsapi.Denied {
			p.due, p.print, p.moving = at.Add(poolDenied), print, false
		}
	}
	ready := 0
	for _, i := range instances {
		switch state := string(i.LifecycleState); {
		case strings.HasPrefix(state, "Warmed:Terminat"):
			continue
		case strings.HasPrefix(state, "Warmed:Pending"):
			p.moving = true
		default:
			ready++
		}
		p.from[aws.ToString(i.InstanceId)] = at
	}
	if err == nil {
		p.ready = &ready
		for id, was := range last.from {
			if _, lives := v.find(id); lives {
				was = at
			}
			if _, in := p.from[id]; !in && at.Sub(was) < poolDenied { // on its way between the two
				p.from[id] = was
			}
		}
	}
	for _, i := range v.living {
		id := aws.ToString(i.InstanceId)
		if _, in := p.from[id]; !in && (last.at.IsZero() || last.strange[id] || err != nil && !f.knows(id)) {
			p.strange[id] = true
		}
	}
	return p
}

// knows tells whether an instance was listed before.
func (f *Fleet) knows(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, known := f.launched[id]
	return known
}

func (f *Fleet) poolInstances(ctx context.Context) (all []types.Instance, err error) {
	in := &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: aws.String(f.o.Group), MaxRecords: aws.Int32(50)}
	for range maxPoolPages {
		out, err := f.region.client.DescribeWarmPool(ctx, in)
		if err != nil {
			return nil, f.explain("look at the warm pool of", err)
		}
		all = append(all, out.Instances...)
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	return all, nil
}

// tier says where an instance came from, as far as is known.
func (p prepared) tier(id string) muster.Tier {
	switch _, in := p.from[id]; {
	case in:
		return muster.Warm
	case p.at.IsZero() || p.failure != "" || p.strange[id]:
		return ""
	}
	return muster.Cold
}

// note says that the pool cannot be read.
func (p prepared) note(notes []string) []string {
	if p.failure == "" || len(notes) >= muster.MaxNotes {
		return notes
	}
	text := fmt.Sprintf("boots from the warm pool and others are learned together, because it cannot be read: %s",
		p.failure)
	return append(notes, text[:min(len(text), muster.MaxNoteBytes)])
}
