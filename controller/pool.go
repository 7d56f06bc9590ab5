package controller

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
)

// pool is the warm pool as far as is known at now; nil for a fleet that has none. What was learned of it stays when the
// pool cannot be read for a while.
func (st *State) pool(now time.Time) *muster.Pool {
	p := muster.Pool{Ready: st.ready()}
	if p.Boot = st.learned.WarmBoot(now); !p.Boot.Known && st.last().pool != nil {
		p.Boot = st.last().pool.Boot
	}
	if st.listed.Ready == nil && !p.Boot.Known {
		return nil
	}
	return &p
}

// ready is how many members the warm pool can start beyond those that were ordered from it and did not show yet.
func (st *State) ready() int {
	if st.listed.Ready == nil {
		return 0
	}
	return max(0, *st.listed.Ready-st.roster.Awaited())
}

// fromPool notes which of the members that are ordered now are expected from the warm pool, the first ones, and returns
// how many.
func (st *State) fromPool(ordered []string) int {
	// Those that are ordered now are not expected from it yet.
	n := min(st.ready(), len(ordered))
	st.roster.FromPool(ordered[:n])
	return n
}

// tiers records of which tier members are that were expected to be of the other.
func (x *seen) tiers(other []roster.Tiered) {
	for _, t := range other {
		x.changes = append(x.changes, Changed{Member: t.Member, What: t.Change(), Why: why(t.Tier)})
	}
}

func why(t muster.Tier) string {
	if t == muster.Warm {
		return "it comes from the warm pool"
	}
	return "it was started anew, and not from the warm pool"
}
