package machine

// A tenant of a standard queue is noisy while it holds more than a tenth of
// all messages in flight, and at least noisyLeast of them. What it has in the
// queue is set aside, and received when no other tenant has anything.
const (
	NoisyLeast = 30
	noisyShare = 10
)

// noisy says whether the tenant of e takes more than its share. A message
// without a group is a tenant of its own.
func (b *Backlog) noisy(e *Entry) bool {
	if e.Group == 0 {
		return false
	}
	held := b.Groups.at(e.Group).held
	return held >= NoisyLeast && held*noisyShare > b.InFlight.Len()
}

// front is the message of a standard queue to receive next, or 0.
func (b *Backlog) front() uint32 {
	ref := b.readyFront()
	if b.Apart.Live == 0 && (ref == 0 || b.Slab.At(ref).Group == 0) {
		return ref
	}
	return b.fairFront()
}

// fairFront sets messages of noisy tenants aside until the front is that of a
// quiet one. Each message is set aside at most once while its tenant is noisy,
// and one step moves a bounded number.
func (b *Backlog) fairFront() uint32 {
	ref := b.readyFront()
	for range MaxPassed {
		if ref == 0 || !b.noisy(b.Slab.At(ref)) {
			break
		}
		e := b.Slab.At(ref)
		b.Ready.remove(e.pos)
		e.aside = true
		b.Apart.insert(&b.Slab, ref)
		ref = b.readyFront()
	}
	aside := b.Apart.front()
	switch {
	case aside == 0:
		return ref
	case ref == 0 || b.noisy(b.Slab.At(ref)):
		return aside
	case !b.noisy(b.Slab.At(aside)) && Before(b.Slab.At(aside), b.Slab.At(ref)):
		return aside
	}
	return ref
}
