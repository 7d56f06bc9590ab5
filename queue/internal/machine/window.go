package machine

// DedupFor is the time, in milliseconds, for which a deduplication id or the id of a receive attempt is remembered.
const DedupFor = 5 * 60 * 1000

// window remembers values by key until a time. Times must not decrease from one put to the next. The zero window is
// empty.
type window[V any] struct {
	values map[string]timedValue[V]
	order  []deadline
	from   int // entries of order before it are done
}

type timedValue[V any] struct {
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
		w.values = map[string]timedValue[V]{}
	}
	w.values[key] = timedValue[V]{v, until}
	w.order = append(w.order, deadline{key, until})
}

// undoPut undoes the last put.
func (w *window[V]) undoPut() {
	last := len(w.order) - 1
	delete(w.values, w.order[last].key)
	w.order = w.order[:last]
}

// expire removes values whose time is over and calls gone with each.
func (w *window[V]) expire(now int64, gone func(key string, v V)) {
	for w.from < len(w.order) && w.order[w.from].until <= now {
		w.shift(gone)
	}
}

// shift removes the oldest value. The key may have been put again since; then only its old deadline goes.
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

// next returns the time at which the oldest value ends; [Never] if there is none.
func (w *window[V]) next() int64 {
	if w.from == len(w.order) {
		return Never
	}
	return w.order[w.from].until
}

// All yields the remembered values in no order.
func (w *window[V]) All(yield func(string, V) bool) {
	for key, kept := range w.values {
		if !yield(key, kept.value) {
			return
		}
	}
}
