package machine

// DedupFor is how long a deduplication id, or the id of a receive attempt, is
// remembered, in milliseconds.
const DedupFor = 5 * 60 * 1000

// window remembers values by key until a time. Times must not go back from one
// put to the next. The zero window is empty.
type window[V any] struct {
	values map[string]lasting[V]
	order  []deadline
	from   int // what is before it in order is done
}

type lasting[V any] struct {
	value V
	until int64
}

type deadline struct {
	key   string
	until int64
}

func (w *window[V]) get(key string, now int64) (v V, ok bool) {
	if kept := w.values[key]; kept.until > now {
		return kept.value, true
	}
	return v, false
}

func (w *window[V]) put(key string, v V, until int64) {
	if w.values == nil {
		w.values = map[string]lasting[V]{}
	}
	w.values[key] = lasting[V]{v, until}
	w.order = append(w.order, deadline{key, until})
}

// unput undoes the last put.
func (w *window[V]) unput() {
	last := len(w.order) - 1
	delete(w.values, w.order[last].key)
	w.order = w.order[:last]
}

// expire forgets what has lasted until now, and tells gone of it.
func (w *window[V]) expire(now int64, gone func(key string, v V)) {
	for w.from < len(w.order) && w.order[w.from].until <= now {
		w.shift(gone)
	}
}

// shift forgets the oldest.
func (w *window[V]) shift(gone func(key string, v V)) {
	d := w.order[w.from]
	w.order[w.from] = deadline{}
	w.from++
	if kept, ok := w.values[d.key]; ok && kept.until == d.until {
		delete(w.values, d.key)
		gone(d.key, kept.value)
	}
	if w.from > 1024 && w.from > len(w.order)/2 || w.from == len(w.order) {
		w.order = append([]deadline(nil), w.order[w.from:]...)
		w.from = 0
	}
}

// next is when the oldest is forgotten; never if there is none.
func (w *window[V]) next() int64 {
	if w.from == len(w.order) {
		return Never
	}
	return w.order[w.from].until
}

// All yields what is remembered, in no order.
func (w *window[V]) All(yield func(string, V) bool) {
	for key, kept := range w.values {
		if !yield(key, kept.value) {
			return
		}
	}
}
