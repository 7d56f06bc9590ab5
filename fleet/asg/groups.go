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

const (
	// maxNames is how many groups one call describes.
	maxNames = 50
	// gather is how long the first who asks waits for others, whose groups then come with the same call.
	gather = 50 * time.Millisecond
	// forget is how long after the last ask a group is described no more.
	forget = 10 * time.Minute
)

// Groups describes Auto Scaling groups for all fleets of a controller, 50 in a call. It is safe for use by several
// goroutines.
type Groups struct {
	account *awsapi.Account

	mu      sync.Mutex
	regions map[string]*region
}

// NewGroups returns a describer of groups. Nothing is called.
func NewGroups(account *awsapi.Account) *Groups {
	return &Groups{account: account, regions: map[string]*region{}}
}

// region holds the groups of one region.
type region struct {
	name   string
	client *autoscaling.Client
	// turn is held by the one who describes.
	turn chan struct{}

	mu     sync.Mutex
	groups map[string]*described
}

// described is what is known of one group.
type described struct {
	name    string
	pace    awsapi.Pace
	askedAt time.Time
	seen
	// print tells whether anything changed between two looks.
	print string
}

// seen is one look at a group. Before the first its instant is zero.
type seen struct {
	// at is when it was asked for.
	at time.Time
	// group is nil where there is none, or failure says why nobody knows.
	group   *types.AutoScalingGroup
	failure error
}

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

// entry returns what is known of a group, which is looked at at least so often while it changes. The caller holds the
// lock.
func (r *region) entry(name string, every time.Duration) *described {
	d := r.groups[name]
	if d == nil {
		d = &described{name: name, pace: awsapi.Pace{Fast: every, Slow: awsapi.Slow}}
		r.groups[name] = d
	}
	d.pace.Fast = min(d.pace.Fast, every)
	return d
}

// look returns the group as it was last described, or describes it when that is due.
func (r *region) look(ctx context.Context, name string, every time.Duration) seen {
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
		return s // somebody described it meanwhile
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

func (r *region) cached(name string, every time.Duration) (seen, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.entry(name, every)
	now := time.Now()
	d.askedAt = now
	return d.seen, !d.at.IsZero() && !d.pace.Due(now)
}

// due returns the names of the groups that are due now or soon, and forgets those that nobody asks for. Whatever is due
// within half of the slowest rate comes along, if its own last look is not newer than the fastest rate: so groups that
// were first seen at different times come to be described together.
func (r *region) due(now time.Time) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, d := range r.groups {
		switch {
		case now.Sub(d.askedAt) > forget:
			delete(r.groups, name)
		case d.at.IsZero() || d.pace.Due(now) || d.pace.Due(now.Add(awsapi.Slow/2)) && now.Sub(d.at) >= awsapi.Fast:
			names = append(names, name)
		}
	}
	slices.Sort(names) // the same groups make the same calls
	return names
}

// describe asks for up to 50 groups and notes what came.
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
		print := printOf(d.group)
		d.pace.Looked(at, print != d.print)
		d.print = print
	}
}

// now describes one group at once, whatever is known of it.
func (r *region) now(ctx context.Context, name string) (*types.AutoScalingGroup, error) {
	r.expect(name, 0)
	r.mu.Lock()
	r.entry(name, awsapi.Fast).askedAt = time.Now()
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

// expect makes the next look at a group a fresh one, once the last is so old.
func (r *region) expect(name string, apart time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.groups[name]; d != nil {
		d.pace.ExpectAt(d.at.Add(apart))
	}
}

func missing(name, region string) error {
	return fmt.Errorf("find the Auto Scaling group %s: there is none in the region %s and the account of these "+
		"credentials; create it, or put asg.group and asg.region right", name, region)
}

// printOf sums up what of a group matters to whether it changes.
func printOf(g *types.AutoScalingGroup) string {
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

// fewGroups is up to how many groups may all ask for something at once.
const fewGroups = 20

// share returns how long the named group waits with what it does every so often, so that many groups are spread over
// that time.
func (r *region) share(name string, every time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.groups) <= fewGroups {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return time.Duration(float64(every) * float64(h.Sum32()) / (1 << 32))
}
