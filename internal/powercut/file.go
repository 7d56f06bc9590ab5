package powercut

import "slices"

// file is the content of a file, independent of its name.
type file struct {
	content []byte // as programs see it
	synced  []byte // as it is on the disk for certain
	changes []change
	handles []*handle
	memory
}

// change is a write, or a truncation when data is nil.
type change struct {
	at   int64
	data []byte
}

// apply returns b after the change.
func (c change) apply(b []byte) []byte {
	if c.data == nil {
		return resize(b, c.at)
	}
	if end := c.at + int64(len(c.data)); end > int64(len(b)) {
		b = resize(b, end)
	}
	copy(b[c.at:], c.data)
	return b
}

// resize shortens b, or extends it with zeros.
func resize(b []byte, size int64) []byte {
	n := int64(len(b))
	if size <= n {
		return b[:size]
	}
	b = slices.Grow(b, int(size-n))[:size]
	clear(b[n:])
	return b
}

// change makes a change that is not synced yet.
func (f *file) change(c change) {
	f.content = c.apply(f.content)
	f.changes = append(f.changes, c)
}

// sync makes the changes durable.
func (f *file) sync() {
	for _, c := range f.changes {
		f.synced = c.apply(f.synced)
	}
	f.changes = nil
}

// loseSync is a failed sync: a part of the changes reaches the disk, the rest never will, because the
// system regards them as written.
func (f *file) loseSync(d *damage) {
	f.synced = f.after(d)
	f.changes = nil
}

// after returns the content that the file may have after a power cut.
func (f *file) after(d *damage) []byte {
	b := slices.Clone(f.synced)
	for _, c := range f.changes {
		if c.data == nil {
			if d.fate() == keep {
				b = c.apply(b)
			}
			continue
		}
		for at, end := c.at, c.at+int64(len(c.data)); at < end; {
			next := min(end, (at/sector+1)*sector)
			if piece := d.piece(c.data[at-c.at : next-c.at]); piece != nil {
				b = change{at, piece}.apply(b)
			}
			at = next
		}
	}
	return b
}
