package queue

// A tenant of a standard queue is noisy while it holds more than a tenth of
// all messages in flight, and at least noisyLeast of them. What it has in the
// queue is set aside, and received when no other tenant has anything.
const (
	noisyLeast = 30
	noisyShare = 10
)

// noisy says whether the tenant of e takes more than its share. A message
// without a group is a tenant of its own.
func (b *backlog) noisy(e *entry) bool {
	if e.group == 0 {
		return false
	}
	held := b.groups.at(e.group).held
	return held >= noisyLeast && held*noisyShare > b.inFlight.len()
}

// front is the message of a standard queue to receive next, or 0.
func (b *backlog) front() uint32 {
	ref := b.readyFront()
	if b.apart.live == 0 && (ref == 0 || b.slab.at(ref).group == 0) {
		return ref
	}
	return b.fairFront()
}

// fairFront sets messages of noisy tenants aside until the front is that of a
// quiet one. Each message is set aside at most once while its tenant is noisy,
// and one step moves a bounded number.
func (b *backlog) fairFront() uint32 {
	ref := b.readyFront()
	for range maxPassed {
		if ref == 0 || !b.noisy(b.slab.at(ref)) {
			break
		}
		e := b.slab.at(ref)
		b.ready.remove(e.pos)
		e.aside = true
		b.apart.insert(&b.slab, ref)
		ref = b.readyFront()
	}
	aside := b.apart.front()
	switch {
	case aside == 0:
		return ref
	case ref == 0 || b.noisy(b.slab.at(ref)):
		return aside
	case !b.noisy(b.slab.at(aside)) && before(b.slab.at(aside), b.slab.at(ref)):
		return aside
	}
	return ref
}
