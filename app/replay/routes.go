package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/server"
)

const (
	// patience bounds one replay of the API.
	patience = time.Minute
	// defaultWindow is the window of a request without times.
	defaultWindow = 24 * time.Hour
)

// Routes returns the routes of replays for a running App. One replay runs at a time, because it takes all that two
// cores give; another one is answered with 409. A client that ends its request ends the replay.
func Routes(a *app.App) []server.Route { return RoutesOf(a.Current, a.History()) }

// RoutesOf is [Routes] for a configuration that may change and a history.
func RoutesOf(current func() *config.Config, h History) []server.Route {
	s := &service{current: current, history: h}
	return []server.Route{{Pattern: "POST /v1/whatif", Serve: s.replay}}
}

// service serves replays, one at a time.
type service struct {
	current func() *config.Config
	history History
	busy    sync.Mutex
}

// replay answers with a replay.
func (s *service) replay(w http.ResponseWriter, r *http.Request) {
	var asked Request
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&asked); err != nil {
		fail(w, http.StatusBadRequest, fmt.Sprintf("read the request: %v", err))
		return
	}
	if !s.busy.TryLock() {
		w.Header().Set("Retry-After", "5")
		fail(w, http.StatusConflict, "another replay runs; wait for its end, or end it by closing its page")
		return
	}
	defer s.busy.Unlock()
	asked = asked.timed(time.Now().UTC())
	// The server's deadline is for short answers.
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience + 10*time.Second))
	ctx, stop := context.WithTimeout(r.Context(), patience)
	defer stop()
	found, err := Make(ctx, s.history, s.current(), asked, nil)
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(found) // an error means that the client has gone
	case errors.Is(err, context.DeadlineExceeded):
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("the replay takes longer than %s: choose a shorter window, "+
			"or use muster replay", patience))
	case misuse.Is(err):
		fail(w, http.StatusBadRequest, err.Error())
	default:
		fail(w, http.StatusUnprocessableEntity, err.Error())
	}
}

// timed returns the request with the last day where it names no times.
func (r Request) timed(now time.Time) Request {
	if r.To.IsZero() {
		r.To = now
	}
	if r.From.IsZero() {
		r.From = r.To.Add(-defaultWindow)
	}
	return r
}

func fail(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(map[string]string{"error": strings.TrimSpace(message)})
}
