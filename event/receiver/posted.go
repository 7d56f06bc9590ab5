package receiver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/muster-scale/muster/event"
)

// maxPosted bounds a request in bytes. An event of EventBridge has at most 1 MiB, but those that are read here are far
// smaller.
const maxPosted = 256 << 10

// Endpoint takes events in the forms of AWS from HTTP requests, such as those of an API destination of EventBridge. It
// asks for no token, so it must be served behind one. Several goroutines may use it.
type Endpoint struct {
	wake     func(...event.Event)
	repeated func(event.Event)
	limit    *rate.Limiter

	mu   sync.Mutex // of all below, and of the calls of wake and repeated
	seen event.Seen
}

// Posted is the answer to accepted events.
type Posted struct {
	// Events counts the events that are new, and Repeated those whose id is known, which wake nothing.
	Events   int `json:"events"`
	Repeated int `json:"repeated"`
}

// NewEndpoint returns an endpoint that passes new events to wake and the others to repeated, which may be nil. One
// goroutine at a time calls them, and they must return soon.
func NewEndpoint(wake func(...event.Event), repeated func(event.Event)) *Endpoint {
	if repeated == nil {
		repeated = func(event.Event) {}
	}
	return &Endpoint{wake: wake, repeated: repeated, limit: rate.NewLimiter(roundsPerSecond, burst)}
}

// ServeHTTP implements [http.Handler]. It answers 202 with a [Posted], 400 to what is no JSON, 413 to what is too
// large, and 429 to a flood. An error has the form {"error": "..."}.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPosted))
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		answer(w, http.StatusRequestEntityTooLarge, failure(fmt.Sprintf("read the event: at most %d bytes are allowed",
			maxPosted)))
		return
	case err != nil:
		answer(w, http.StatusBadRequest, failure(fmt.Sprintf("read the event: %v", err)))
		return
	case !json.Valid(body):
		// Elsewhere what cannot be read wakes everything. Here the sender can be told.
		answer(w, http.StatusBadRequest, failure("read the event: found no JSON, allowed is an event as EventBridge "+
			"sends it, or a list of them"))
		return
	case !e.limit.Allow():
		w.Header().Set("Retry-After", "1")
		answer(w, http.StatusTooManyRequests, failure(fmt.Sprintf("more than %d requests a second; the next poll sees "+
			"what they would have shown", roundsPerSecond)))
		return
	}
	answer(w, http.StatusAccepted, e.take(time.Now(), event.Read(body)))
}

// take wakes what the new ones of the events concern.
func (e *Endpoint) take(now time.Time, all []event.Event) (p Posted) {
	e.mu.Lock()
	defer e.mu.Unlock()
	news := fresh(&e.seen, now, all, e.repeated)
	if len(news) > 0 {
		e.wake(news...)
	}
	return Posted{Events: len(news), Repeated: len(all) - len(news)}
}

// failure is the body of an answer that refuses.
func failure(text string) any {
	return struct {
		Error string `json:"error"`
	}{text}
}

// answer writes an answer. The requester may be gone, which changes nothing.
func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(body)
}
