package roster

import "slices"

// smallRoster is up to how many members a linear search is as fast as an index.
const smallRoster = 16

// index finds members by name in a large roster: an open-addressing hash table of indexes into Roster.members, plus 1.
// It is empty for a small roster.
type index []int32

// find returns the index of the member with the given id.
func (r *Roster) find(id string) (int, bool) {
	if len(r.members) <= smallRoster || len(r.byID) == 0 {
		i := slices.IndexFunc(r.members, func(m Member) bool { return m.ID == id })
		return i, i >= 0
	}
	mask := uint32(len(r.byID) - 1)
	for at := hash(id) & mask; ; at = (at + 1) & mask {
		place := r.byID[at]
		if place == 0 {
			return -1, false
		}
		if r.members[place-1].ID == id {
			return int(place - 1), true
		}
	}
}

// reindex updates the index after members were added from the index first on. With first 0 it rebuilds it.
func (r *Roster) reindex(first int) {
	if len(r.members) <= smallRoster {
		r.byID = nil
		return
	}
	if first == 0 || 2*len(r.members) > len(r.byID) {
		size := 4 * smallRoster
		for size < 3*len(r.members) {
			size *= 2
		}
		r.byID, first = make(index, size), 0
	}
	mask := uint32(len(r.byID) - 1)
	for i := first; i < len(r.members); i++ {
		at := hash(r.members[i].ID) & mask
		for r.byID[at] != 0 {
			at = (at + 1) & mask
		}
		r.byID[at] = int32(i + 1)
	}
}

// hash is FNV-1a.
func hash(id string) uint32 {
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return h
}
