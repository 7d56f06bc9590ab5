package roster

import "github.com/muster-scale/muster"

// FromPool records that the named members were ordered while the warm pool had instances for them.
func (r *Roster) FromPool(ids []string) {
	for _, id := range ids {
		if i, ok := r.find(id); ok {
			r.members[i].change().Warm = true
		}
	}
}

// Awaited returns how many members are expected from the warm pool and not listed yet.
func (r Roster) Awaited() (n int) {
	for i := range r.members {
		if m := &r.members[i]; m.Warm && !m.Listed && !m.failed {
			n++
		}
	}
	return n
}

// Tiers records which listed members came from the warm pool, and returns those for which that differs from the
// expectation. Call it after [Roster.Listed] with the same listing, so that later reports give boot times of the right
// tier.
func (r *Roster) Tiers(l muster.Listing) (other []Tiered) {
	for i := range l.Members {
		x := &l.Members[i]
		if x.Tier == "" {
			continue
		}
		if k, ok := r.find(x.ID); ok && r.members[k].Warm != (x.Tier == muster.Warm) {
			r.members[k].change().Warm = x.Tier == muster.Warm
			other = append(other, Tiered{x.ID, x.Tier})
		}
	}
	return other
}

// Tiered is a member and its tier.
type Tiered struct {
	Member string
	Tier   muster.Tier
}

// Change returns the change that records the tier.
func (t Tiered) Change() Change {
	if t.Tier == muster.Warm {
		return CameWarm
	}
	return CameCold
}
