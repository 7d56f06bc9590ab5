package asg

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/muster-scale/muster/internal/awsapi"
)

// This file reads Auto Scaling groups for all fleets together. AWS limits calls per account and region, so groups that
// are due at about the same time share one call.

const (
	// maxNames bounds the groups of one call.
	maxNames = 50
	// gather is how long the first caller waits for others, whose groups then share its call.
	gather = 20 * time.Millisecond
	// forget is how long after its last use a group is no longer described.
	forget = 10 * time.Minute
)

// Groups describes Auto Scaling groups for all fleets of a controller, 50 in a call. Several goroutines may use it.
type Groups struct {
	account *awsapi.Account

	mu      sync.Mutex
	regions map[string]*region
}

// NewGroups returns Groups. It makes no call.
func NewGroups(account *awsapi.Account) *Groups {
	return &Groups{account: account, regions: map[string]*region{}}
}

// region holds the groups of one region.
type region struct {
	name   string
	client *autoscaling.Client
	// turn is a lock for describing.
	turn chan struct{}

	mu     sync.Mutex
	groups map[string]*described
}

// described is the state of one group.
type described struct {
	name string
	// pace says when the next reading is due. usedAt is when a fleet last wanted the group.
	pace   awsapi.Pace
	usedAt time.Time
	seen
	// fingerprint is the fingerprint of the group at the last reading, to detect changes.
	fingerprint string
}

// seen is one reading of a group. Its time is zero before the first.
type seen struct {
	// at is when the reading began.
	at time.Time
	// group is nil if it does not exist, or if failure says why it is unknown.
	group   *types.AutoScalingGroup
	failure error
}

// region returns the groups of a region; an empty name is the default region of the account.
func (g *Groups) region(name string) (*region, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	cfg, err := g.account.Region(name)
	if err != nil {
		return nil, err
	}
	if r, ok := g.regions[cfg.Region]; ok {
		return r, nil
	}
	r := &region{name: cfg.Region, client: autoscaling.NewFromConfig(cfg), turn: make(chan struct{}, 1),
		groups: map[string]*described{}}
	g.regions[cfg.Region] = r
	return r, nil
}

// entry returns the state of a group, and makes every the upper bound of its reading interval while it changes. The
// caller holds the lock.
func (r *region) entry(name string, every time.Duration) *described {
	d := r.groups[name]
	if d == nil {
		d = &described{name: name, pace: awsapi.Pace{Fast: every, Slow: awsapi.Slow}}
		r.groups[name] = d
	}
	d.pace.Fast = min(d.pace.Fast, every)
	return d
}

// read returns the last reading of the group, or a new one when that is due.
func (r *region) read(ctx context.Context, name string, every time.Duration) seen {
	if s, fresh := r.cached(name, every); fresh {
		return s
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return seen{at: time.Now(), failure: ctx.Err()}
	}
	if s, fresh := r.cached(name, every); fresh {
		return s // another caller described it meanwhile
	}
	select {
	case <-time.After(gather):
	case <-ctx.Done():
		return seen{at: time.Now(), failure: ctx.Err()}
	}
	for batch := range slices.Chunk(r.due(time.Now()), maxNames) {
		r.describe(ctx, batch)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.groups[name].seen; ctx.Err() == nil {
		return s
	}
	return seen{at: time.Now(), failure: ctx.Err()}
}

// cached returns the last reading of a group, and whether it still counts. It also marks the group as in use.
func (r *region) cached(name string, every time.Duration) (seen, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.entry(name, every)
	now := time.Now()
	d.usedAt = now
	return d.seen, !d.at.IsZero() && !d.pace.Due(now)
}

// due returns the names of the groups to describe now, and drops unused ones. It adds groups that will be due within
// half of the slowest interval, unless they were read within the fastest one. So groups that were first read at
// different times come to share calls.
func (r *region) due(now time.Time) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, d := range r.groups {
		switch {
		case now.Sub(d.usedAt) > forget:
			delete(r.groups, name)
		case d.at.IsZero() || d.pace.Due(now) || d.pace.Due(now.Add(awsapi.Slow/2)) && now.Sub(d.at) >= awsapi.Fast:
			names = append(names, name)
		}
	}
	slices.Sort(names) // the same groups make the same calls
	return names
}

// describe reads up to 50 groups.
func (r *region) describe(ctx context.Context, names []string) {
	at := time.Now()
	found := map[string]*types.AutoScalingGroup{}
	in := &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: names, MaxRecords: aws.Int32(100)}
	var err error
	for more := true; more; more = in.NextToken != nil {
		var out *autoscaling.DescribeAutoScalingGroupsOutput
		if out, err = r.client.DescribeAutoScalingGroups(ctx, in); err != nil {
			break
		}
		for i := range out.AutoScalingGroups {
			found[aws.ToString(out.AutoScalingGroups[i].AutoScalingGroupName)] = &out.AutoScalingGroups[i]
		}
		in.NextToken = out.NextToken
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		d := r.groups[name]
		if d == nil || err != nil && ctx.Err() != nil {
			continue
		}
		d.at, d.group, d.failure = at, found[name], nil
		if err != nil {
			d.failure = awsapi.Explain("describe the Auto Scaling group "+name, r.name, err)
			d.pace.Failed(at)
			continue
		}
		fingerprint := fingerprintOf(d.group)
		d.pace.Looked(at, fingerprint != d.fingerprint)
		d.fingerprint = fingerprint
	}
}

// now describes one group at once.
func (r *region) now(ctx context.Context, name string) (*types.AutoScalingGroup, error) {
	r.expect(name, 0)
	r.mu.Lock()
	r.entry(name, awsapi.Fast).usedAt = time.Now()
	r.mu.Unlock()
	r.describe(ctx, []string{name})
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.groups[name]
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("describe the Auto Scaling group %s: %w", name, ctx.Err())
	case d.failure != nil:
		return nil, d.failure
	case d.group == nil:
		return nil, missing(name, r.name)
	}
	return d.group, nil
}

// expect makes the next reading of a group a fresh one, once the last is older than apart.
func (r *region) expect(name string, apart time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.groups[name]; d != nil {
		d.pace.ExpectAt(d.at.Add(apart))
	}
}

// missing is the error for a group that does not exist.
func missing(name, region string) error {
	return fmt.Errorf("find the Auto Scaling group %s: there is none in the region %s and the account of these "+
		"credentials; create it, or put asg.group and asg.region right", name, region)
}

// fingerprintOf returns a fingerprint of a group, which changes when the group does.
func fingerprintOf(g *types.AutoScalingGroup) string {
	if g == nil {
		return "none"
	}
	text := fmt.Sprintf("%d %d %d %d", aws.ToInt32(g.DesiredCapacity), aws.ToInt32(g.MinSize), aws.ToInt32(g.MaxSize),
		aws.ToInt32(g.WarmPoolSize))
	for _, i := range g.Instances {
		text += fmt.Sprintf(" %s %s %t", aws.ToString(i.InstanceId), i.LifecycleState,
			aws.ToBool(i.ProtectedFromScaleIn))
	}
	return text
}

// fewGroups is up to how many groups may make the same request at once.
const fewGroups = 20

// share returns how long the named group delays a request that it makes at each interval, to spread many groups over
// it.
func (r *region) share(name string, every time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.groups) <= fewGroups {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return time.Duration(float64(every) * float64(h.Sum32()) / (1 << 32))
}
