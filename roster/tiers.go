package roster

import "github.com/muster-scale/muster"

// FromPool notes that the named members were ordered while the warm pool had so many for them.
func (r *Roster) FromPool(ids []string) {
	for _, id := range ids {
		if i, ok := r.find(id); ok {
			r.members[i].change().Warm = true
		}
	}
}

// Awaited returns how many members are expected from the warm pool that no listing has shown yet: they are in the pool
// still, or on their way.
func (r Roster) Awaited() (n int) {
	for i := range r.members {
		if m := &r.members[i]; m.Warm && !m.Listed && !m.failed {
			n++
		}
	}
	return n
}

// Tiers takes in which of the listed members came from the warm pool, and returns those for which that is not what was
// expected. It is called after [Roster.Listed] with the same listing, so that reports that come later are timed by it.
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

// Tiered tells the tier of a member.
type Tiered struct {
	Member string
	Tier   muster.Tier
}

// Change is the change that records a tier.
func (t Tiered) Change() Change {
	if t.Tier == muster.Warm {
		return CameWarm
	}
	return CameCold
}
