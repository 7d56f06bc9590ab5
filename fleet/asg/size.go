package asg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
)

// maxLaunch bounds the instances of one launch by name.
const maxLaunch = 100

// ordered is the newest order with launches, while its instances are awaited. The group does not tell which instance
// belongs to which order, so instances are counted: the oldest names are filled first.
type ordered struct {
	at    time.Time
	names []string
	// checked is when the group's activities were last read.
	checked time.Time
	// failed are the names whose launch failed, with the reason.
	failed map[string]string
}

// SetDesired implements [muster.Fleet]. It sets the group's size to order.Total, in the group's units, and never below
// the living instances; it makes no call if that is the size already. With order.Shrink the size may be lower, and the
// group ends unprotected instances. A size above the group's maximum becomes the maximum, with an error.
func (f *Fleet) SetDesired(ctx context.Context, order muster.Order) error {
	s, done, err := f.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	what := fmt.Sprintf("size the Auto Scaling group %s", f.o.Group)
	if err := s.mayChange(what); err != nil {
		return err
	}
	want := s.unitsFor(max(order.Total, order.Desired))
	if order.Shrink && order.Total < len(s.living) {
		want = s.unitsBelow(order.Total)
	}
	want = max(want, s.min())
	short := error(nil)
	if want > s.max() {
		short = fmt.Errorf("%s: found its maximum %d, and %d is needed; it has been set to the maximum: raise that, "+
			"or lower max of the fleet", what, s.max(), want)
		if want = s.max(); want < s.units && !order.Shrink {
			// The group itself ends instances above a lowered maximum. Muster leaves the size alone.
			return short
		}
	}
	if len(order.Launch) > 0 && s.suspended("Launch") {
		return fmt.Errorf("%s: found launching suspended; resume the process Launch", what)
	}
	if want == s.desired() {
		return short
	}
	f.await(order)
	defer f.region.expect(f.o.Group, 0)
	if want > s.desired() && f.byName(s) {
		handled, err := f.launch(ctx, order, s, want-s.desired())
		if handled {
			return errors.Join(err, short)
		}
	}
	_, err = f.region.client.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: aws.String(f.o.Group), DesiredCapacity: aws.Int32(int32(want)),
		HonorCooldown: aws.Bool(false),
	})
	return errors.Join(f.explain(fmt.Sprintf("set the size %d of", want), err), short)
}

// await records an order whose instances have not started yet.
func (f *Fleet) await(order muster.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(order.Launch) > 0 {
		f.order = ordered{at: time.Now(), names: order.Launch, failed: map[string]string{}}
	}
}

// byName tells whether to launch by name: the group must be simple enough for it.
func (f *Fleet) byName(s survey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	simple := s.weight == 1 && s.WarmPoolConfiguration == nil
	return f.o.Launch == ByName || f.o.Launch == Auto && simple && !f.sizeOnly
}

// maxFaults is after how many orders with a fault of the service launching by name is given up.
const maxFaults = 3

// fallsBack tells whether to set the size because a launch by name failed. It records if this group, these credentials
// or this service can never launch by name. The size is absolute, so instances launched before the failure are not
// launched again.
func (f *Fleet) fallsBack(err error) bool {
	e, ok := errors.AsType[*awsapi.Error](err)
	if !ok || strings.Contains(e.Code, "ResourceContention") {
		return false // another change of the group is under way, and would refuse the size, too
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case e.Kind == awsapi.Denied || e.Kind == awsapi.Refused || unimplemented(e):
		f.sizeOnly = true
	case e.Status >= 500 && e.Kind == awsapi.Failed:
		f.faults++
		f.sizeOnly = f.faults >= maxFaults
	default:
		return false
	}
	return true
}

// works records that launching by name works.
func (f *Fleet) works() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = 0
}

// unimplemented tells whether the server does not know the action, as some replacements for AWS.
func unimplemented(e *awsapi.Error) bool {
	code, message := strings.ToLower(e.Code), strings.ToLower(e.Message)
	return e.Status == http.StatusNotImplemented || strings.Contains(code, "invalidaction") ||
		strings.Contains(code, "unknownoperation") ||
		strings.Contains(code, "notimplemented") || strings.Contains(message, "not implemented") ||
		strings.Contains(message, "not yet implemented") ||
		strings.Contains(message, "has not been implemented")
}

// token returns a client token of at most 64 characters.
func token(order string, part int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", order, part))
	return hex.EncodeToString(sum[:16])
}

const (
	// activitiesAfter is how long after an order its failures are read first; activitiesEvery is the interval while
	// instances are missing.
	activitiesAfter = 10 * time.Second
	activitiesEvery = 30 * time.Second
	// awaitFor is how long failures of an order are read.
	awaitFor = 15 * time.Minute
)

// failedLaunches returns the ordered members whose launch failed, as ended members. The group keeps trying; the
// controller lowers its size, and retries by its own rules.
func (f *Fleet) failedLaunches(ctx context.Context, at time.Time, s survey) (ended []muster.Member) {
	f.mu.Lock()
	o := &f.order
	short := min((max(0, s.desired()-s.units)+s.weight-1)/s.weight, len(o.names))
	due := short > 0 && at.Sub(o.at) >= activitiesAfter && at.Sub(o.at) < awaitFor &&
		at.Sub(o.checked) >= activitiesEvery
	if due {
		o.checked = at
	}
	since := o.at
	f.mu.Unlock()
	why := ""
	if due {
		why = f.failure(ctx, since)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if why != "" && f.order.at.Equal(since) {
		// The oldest names are filled first, so the last ones have failed.
		for _, name := range o.names[len(o.names)-short:] {
			if o.failed[name] == "" {
				o.failed[name] = why
			}
		}
	}
	for _, name := range o.names {
		if why := o.failed[name]; why != "" {
			ended = append(ended, muster.Member{ID: name, LaunchedAt: o.at.UTC().Round(0), Ended: true, Failure: why})
		}
	}
	return ended
}

// failure returns why the newest launch since a time failed, as the group says it; empty if none did.
func (f *Fleet) failure(ctx context.Context, since time.Time) string {
	out, err := f.region.client.DescribeScalingActivities(ctx, &autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: aws.String(f.o.Group), MaxRecords: aws.Int32(20),
	})
	if err != nil {
		return "" // the boot deadline will notice the missing instances
	}
	for _, a := range out.Activities {
		launching := strings.Contains(aws.ToString(a.Description), "Launching")
		if launching && a.StatusCode == types.ScalingActivityStatusCodeFailed &&
			!aws.ToTime(a.StartTime).Before(since.Truncate(time.Second)) {
			return "the group could not launch it: " + aws.ToString(a.StatusMessage)
		}
	}
	return ""
}
