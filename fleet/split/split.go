package split

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-scale/muster"
)

// Part is one of the fleets.
type Part struct {
	// Name names it in errors.
	Name string
	// Base is how many members it has before the others get any, in the order of the parts. It is at least 0.
	Base int
	// Weight is its share of what goes beyond all bases, in proportion to the other weights. It is at least 0; a part
	// with weight 0 never grows beyond its base.
	Weight int
	// Max is the most members it may have; zero means no limit of its own.
	Max int
	// Fleet is the fleet itself.
	Fleet muster.Fleet
	// Releaser is nil for a fleet that cannot end members.
	Releaser muster.Releaser
}

// Shares shares total out among the parts: the bases first, in order, then the rest by weight, rounded so that the
// shares add up, never above a part's maximum. Workers that no part can take are left out.
func Shares(total int, parts []Part) []int {
	shares := make([]int, len(parts))
	left := total
	for i, p := range parts {
		shares[i] = min(left, p.Base, room(p, 0))
		left -= shares[i]
	}
	// One at a time to the part that is furthest below its weight: exact, and bounded by the size of a fleet.
	for ; left > 0; left-- {
		best := -1
		for i, p := range parts {
			if p.Weight > 0 && room(p, shares[i]) > 0 &&
				(best < 0 || owed(p, shares[i]) > owed(parts[best], shares[best])) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		shares[best]++
	}
	return shares
}

func room(p Part, has int) int {
	if p.Max == 0 {
		return int(^uint(0)>>1) - has
	}
	return p.Max - has
}

// owed is how far a part is below its share: the part with the smallest (beyond base + 1) / weight comes next.
func owed(p Part, has int) float64 {
	return -float64(max(0, has-p.Base)+1) / float64(p.Weight)
}

// Fleet is several fleets that are sized as one. It implements [muster.Fleet] and [muster.Releaser].
type Fleet struct {
	parts []Part
}

var (
	_ muster.Fleet    = (*Fleet)(nil)
	_ muster.Releaser = (*Fleet)(nil)
)

// New returns the fleet made of the given parts, at least one.
func New(parts []Part) (*Fleet, error) {
	if len(parts) == 0 {
		return nil, errors.New("split a fleet: found no parts, at least one is needed")
	}
	for _, p := range parts {
		if p.Base < 0 || p.Weight < 0 || p.Max < 0 || p.Base == 0 && p.Weight == 0 {
			return nil, fmt.Errorf("split a fleet: part %s: found base %d, weight %d, max %d; each is at least 0, "+
				"and base or weight above it", p.Name, p.Base, p.Weight, p.Max)
		}
	}
	return &Fleet{slices.Clone(parts)}, nil
}

// Members implements [muster.Fleet]. When one part cannot be listed, none is: half a list would read as members gone.
func (f *Fleet) Members(ctx context.Context) (muster.Listing, error) {
	var all muster.Listing
	for _, p := range f.parts {
		l, err := p.Fleet.Members(ctx)
		if err != nil {
			return muster.Listing{}, fmt.Errorf("list part %s: %w", p.Name, err)
		}
		if all.At.IsZero() || l.At.Before(all.At) {
			all.At = l.At
		}
		all.Members = append(all.Members, l.Members...)
	}
	return all, nil
}

// SetDesired implements [muster.Fleet]: each part is ordered up to its share of the order. A member that any part has
// started is not started again.
func (f *Fleet) SetDesired(ctx context.Context, order muster.Order) error {
	shares := Shares(order.Desired, f.parts)
	has := make([]int, len(f.parts))
	started := map[string]bool{}
	for i, p := range f.parts {
		l, err := p.Fleet.Members(ctx)
		if err != nil {
			return fmt.Errorf("list part %s: %w", p.Name, err)
		}
		for _, m := range l.Members {
			started[m.ID] = true
			if !m.Ended {
				has[i]++
			}
		}
	}
	launches := make([][]string, len(f.parts))
	for _, id := range order.Launch {
		if started[id] {
			continue
		}
		// Members that still drain count in has, so a part may seem full: the part that lacks most gets the launch.
		i := slices.MaxFunc(indexes(f.parts), func(a, b int) int {
			return cmp.Or(cmp.Compare(shares[a]-has[a], shares[b]-has[b]), cmp.Compare(b, a))
		})
		launches[i] = append(launches[i], id)
		has[i]++
	}
	var failures []error
	for i, p := range f.parts {
		part := muster.Order{ID: order.ID + "." + p.Name, Desired: shares[i], Launch: launches[i]}
		if err := p.Fleet.SetDesired(ctx, part); err != nil {
			failures = append(failures, fmt.Errorf("order for part %s: %w", p.Name, err))
		}
	}
	return errors.Join(failures...)
}

// End implements [muster.Releaser]. Each part ends those of the members that are its own.
func (f *Fleet) End(ctx context.Context, members []string) error {
	var failures []error
	for _, p := range f.parts {
		l, err := p.Fleet.Members(ctx)
		if err != nil {
			failures = append(failures, fmt.Errorf("list part %s: %w", p.Name, err))
			continue
		}
		var own []string
		for _, m := range l.Members {
			if !m.Ended && slices.Contains(members, m.ID) {
				own = append(own, m.ID)
			}
		}
		switch {
		case len(own) == 0:
		case p.Releaser == nil:
			failures = append(failures, fmt.Errorf("part %s cannot end members", p.Name))
		default:
			failures = append(failures, p.Releaser.End(ctx, own))
		}
	}
	return errors.Join(failures...)
}

func indexes(parts []Part) []int {
	all := make([]int, len(parts))
	for i := range all {
		all[i] = i
	}
	return all
}
