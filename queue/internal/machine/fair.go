package machine

// Fair queues, after those of AWS: a tenant of a standard queue is noisy while it has more than 1/noisyShare of all
// messages in flight, and at least NoisyLeast of them. Its visible messages are deferred, and received when no other
// tenant has any.
const (
	NoisyLeast = 30
	noisyShare = 10
)

// noisy says whether the tenant of e takes more than its share. A message without a group is a tenant of its own.
func (b *Backlog) noisy(e *Entry) bool {
	if e.Group == 0 {
		return false
	}
	inFlight := b.Groups.at(e.Group).inFlight
	return inFlight >= NoisyLeast && inFlight*noisyShare > b.InFlight.Len()
}

// front returns the message of a standard queue to receive next, or 0. The test before fairFront keeps queues without
// tenants fast.
func (b *Backlog) front() uint32 {
	ref := b.readyFront()
	if b.Deferred.Live == 0 && (ref == 0 || b.Slab.At(ref).Group == 0) {
		return ref
	}
	return b.fairFront()
}

// fairFront defers messages of noisy tenants until the front belongs to another tenant. Each message is deferred at
// most once while its tenant is noisy, and one step moves a bounded number. When a tenant is no longer noisy, its
// deferred messages compete by age again.
func (b *Backlog) fairFront() uint32 {
	ref := b.readyFront()
	for range MaxSkipped {
		if ref == 0 || !b.noisy(b.Slab.At(ref)) {
			break
		}
		e := b.Slab.At(ref)
		b.Ready.remove(e.pos)
		e.deferred = true
		b.Deferred.insert(&b.Slab, ref)
		ref = b.readyFront()
	}
	deferred := b.Deferred.front()
	switch {
	case deferred == 0:
		return ref
	case ref == 0 || b.noisy(b.Slab.At(ref)):
		return deferred
	case !b.noisy(b.Slab.At(deferred)) && Before(b.Slab.At(deferred), b.Slab.At(ref)):
		return deferred
	}
	return ref
}
