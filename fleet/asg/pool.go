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
	// poolEvery is how often to read a warm pool while nothing changes. While the group changes, it is read with it.
	poolEvery = time.Minute
	// poolDenied is how often to retry without permission.
	poolDenied = 10 * time.Minute
	// maxPoolPages bounds the pages of one reading of a warm pool, of 50 instances each.
	maxPoolPages = 40
)

// This file reads the warm pool of a group. The controller learns boot times from the pool and of cold starts apart, so
// it must know where each instance came from; the group itself does not say.

// prepared is one reading of a group's warm pool.
type prepared struct {
	// at is when the reading began, and fingerprint that of the group then. due is when to read again in any case.
	at, due     time.Time
	fingerprint string
	// moving is true while instances are entering the pool.
	moving bool
	// ready is how many instances wait in the pool; nil if unknown, for the reason failure.
	ready   *int
	failure string
	// from is when each instance from the pool was last seen, in the pool or in the group. unsure are the instances of
	// unknown origin: those that lived before the first reading, or appeared while the pool could not be read.
	from   map[string]time.Time
	unsure map[string]bool
}

// pool returns the state of the warm pool after a reading of the group. The caller does not hold the lock, and makes
// one call at a time.
func (f *Fleet) pool(ctx context.Context, s seen, v survey) prepared {
	f.mu.Lock()
	p := f.prepared
	f.mu.Unlock()
	if v.WarmPoolConfiguration == nil {
		p = prepared{}
	} else if now := fingerprintOf(s.group); s.at.After(p.at) &&
		(p.fingerprint != now || p.moving || !s.at.Before(p.due)) {
		p = f.readPool(ctx, s.at, now, v, p)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.prepared = p
	return p
}

// readPool reads the pool. It does not change last, which a reader without the lock may still have.
func (f *Fleet) readPool(ctx context.Context, at time.Time, fingerprint string, v survey, last prepared) prepared {
	p := prepared{at: at, due: at.Add(poolEvery), fingerprint: fingerprint, from: map[string]time.Time{},
		unsure: map[string]bool{}}
	instances, err := f.poolInstances(ctx)
	if err != nil {
		p.failure, p.from = err.Error(), last.from
		if awsapi.KindOf(err) == awsapi.Denied {
			p.due, p.fingerprint, p.moving = at.Add(poolDenied), fingerprint, false
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
			if _, in := p.from[id]; !in && at.Sub(was) < poolDenied { // on its way from the pool to the group
				p.from[id] = was
			}
		}
	}
	for _, i := range v.living {
		id := aws.ToString(i.InstanceId)
		if _, in := p.from[id]; !in && (last.at.IsZero() || last.unsure[id] || err != nil && !f.knows(id)) {
			p.unsure[id] = true
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

// poolInstances returns the instances in the pool, up to the bound of pages.
func (f *Fleet) poolInstances(ctx context.Context) (all []types.Instance, err error) {
	in := &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: aws.String(f.o.Group), MaxRecords: aws.Int32(50)}
	for range maxPoolPages {
		out, err := f.region.client.DescribeWarmPool(ctx, in)
		if err != nil {
			return nil, f.explain("read the warm pool of", err)
		}
		all = append(all, out.Instances...)
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	return all, nil
}

// tier says whether an instance came from the pool; empty if unknown.
func (p prepared) tier(id string) muster.Tier {
	switch _, in := p.from[id]; {
	case in:
		return muster.Warm
	case p.at.IsZero() || p.failure != "" || p.unsure[id]:
		return ""
	}
	return muster.Cold
}

// note adds a note if the pool cannot be read.
func (p prepared) note(notes []string) []string {
	if p.failure == "" || len(notes) >= muster.MaxNotes {
		return notes
	}
	text := fmt.Sprintf("boot times from the warm pool and of cold starts are learned together, because the "+
		"pool cannot be read: %s",
		p.failure)
	return append(notes, text[:min(len(text), muster.MaxNoteBytes)])
}
