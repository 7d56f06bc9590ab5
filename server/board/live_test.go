package board_test

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/server/board"
	"github.com/muster-scale/muster/server/session"
)

// page is what a page makes of the stream: the last board, with every event after it applied.
type page struct {
	fleets map[string]map[string]any
	totals any
	faults any
	open   any
	cursor string
	// decisions are the decision events.
	decisions []board.Short
	lost      bool
}

// fields returns a value as JSON has it.
func fields(t testing.TB, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	into := map[string]any{}
	if err := json.Unmarshal(text, &into); err != nil {
		t.Fatal(err)
	}
	return into
}

// apply applies one event.
func (p *page) apply(t testing.TB, event string, text []byte) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("event %s: %v in %s", event, err, text)
	}
	rows := func() {
		list, _ := v["fleets"].([]any)
		for _, r := range list {
			row := r.(map[string]any)
			name := row["name"].(string)
			if p.fleets[name] == nil {
				p.fleets[name] = map[string]any{}
			}
			maps.Copy(p.fleets[name], row)
		}
	}
	switch event {
	case "board":
		p.fleets, p.totals, p.faults, p.open = map[string]map[string]any{}, v["totals"], v["faults"],
			v["open_incidents"]
		rows()
	case "change":
		rows()
		for _, name := range v["gone"].([]any) {
			delete(p.fleets, name.(string))
		}
		if v["totals"] != nil {
			p.totals = v["totals"]
		}
	case "faults":
		p.faults = v["faults"]
	case "incidents":
		p.open = v["open"]
	case "decision":
		var d board.Short
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		p.decisions = append(p.decisions, d)
	case "lost":
		p.lost = true
	}
}

// same fails the test unless the page shows the present board.
func (p *page) same(t testing.TB, w *world, when string) {
	t.Helper()
	want := fields(t, get[board.Board](w, "/v1/board"))
	rows := []any{}
	for _, name := range slices.Sorted(maps.Keys(p.fleets)) {
		rows = append(rows, p.fleets[name])
	}
	got := map[string]any{"fleets": rows, "totals": p.totals, "faults": p.faults, "open_incidents": p.open}
	for _, key := range []string{"at", "cursor", "version"} {
		delete(want, key)
	}
	if diff := cmp.Diff(want, fields(t, got)); diff != "" {
		t.Fatalf("%s the page shows (-board +page):\n%s", when, diff)
	}
}

// poll asks for the events since the page's cursor and applies them.
func (p *page) poll(t testing.TB, w *world) {
	t.Helper()
	var a struct {
		Cursor string
		Board  json.RawMessage
		Events []struct {
			Event string
			Data  json.RawMessage
		}
	}
	answer := w.ask("GET", "/v1/board?since="+p.cursor, "")
	if err := json.Unmarshal(answer.Body.Bytes(), &a); err != nil || answer.Code != http.StatusOK {
		t.Fatalf("found %d, %v", answer.Code, err)
	}
	if len(a.Board) > 0 {
		p.apply(t, "board", a.Board)
	}
	for _, e := range a.Events {
		p.apply(t, e.Event, e.Data)
	}
	p.cursor = a.Cursor
}

func TestAPageThatPollsShowsTheBoard(t *testing.T) {
	w, p := newWorld(t), &page{}
	p.poll(t, w)
	p.same(t, w, "at first")
	for step, backlog := range []float64{0, 3, 40, 40, 2, 0, 0} {
		w.advance(backlog, backlog/2)
		switch step {
		case 2:
			w.faults = []string{"a queue could not be created"}
		case 4:
			w.incidents.Open = []incident.Incident{{ID: "i1"}}
		case 5:
			w.gone["fresh"] = true
		}
		if step != 3 { // a poll may be left out
			p.poll(t, w)
			p.same(t, w, "after a poll")
		}
	}
	var sizes []int
	for _, d := range p.decisions {
		if d.Fleet == "thumbs" {
			sizes = append(sizes, d.Desired)
		}
	}
	if len(sizes) < 3 || !slices.Contains(sizes, 5) {
		t.Errorf("found decisions for %v workers", sizes)
	}
}

func TestSinceIsAsDocumented(t *testing.T) {
	w := newWorld(t)
	w.advance(0, 0)
	cursor := get[board.Board](w, "/v1/board").Cursor
	w.advance(40, 2.5)
	answer := w.ask("GET", "/v1/board?since="+cursor, "")
	golden(t, "since.json", answer.Body.Bytes())
}

// watching follows the stream over a real connection, and calls visit with each event until it returns false.
func watching(t *testing.T, w *world, path, last string, visit func(id, event string, data []byte) bool) {
	t.Helper()
	s := httptest.NewServer(w.serves)
	defer s.Close()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.token.Reveal())
	r.Header.Set("Last-Event-ID", last)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" || resp.StatusCode != http.StatusOK {
		t.Fatalf("found %d, %s", resp.StatusCode, kind)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	id, event, data := "", "", ""
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "id":
			id = value
		case "event":
			event = value
		case "data":
			data = value
		case "":
			if event != "" && !visit(id, event, []byte(data)) {
				return
			}
			id, event, data = "", "", ""
		}
	}
	t.Fatalf("the stream ended: %v", lines.Err())
}

func TestTheStreamResumesWhereAPageWas(t *testing.T) {
	w, p := newWorld(t), &page{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go w.live.Run(ctx)
	w.advance(0, 0)
	backlogs := []float64{3, 40, 7}
	follow := func(last string) (events []string) {
		watching(t, w, "/v1/stream", last, func(id, event string, data []byte) bool {
			events = append(events, event)
			p.apply(t, event, data)
			if id != "" {
				p.cursor = id
			}
			if len(backlogs) > 0 && event != "decision" {
				w.advance(backlogs[0], 1)
				backlogs = backlogs[1:]
			}
			return p.fleets["thumbs"]["backlog"] != 7.0
		})
		return events
	}
	if events := follow(""); events[0] != "board" || !slices.Contains(events, "change") {
		t.Errorf("a new page gets %v", events)
	}
	p.same(t, w, "after the stream")
	w.advance(12, 1) // while no page is connected
	backlogs = []float64{7}
	if events := follow(p.cursor); slices.Contains(events, "board") {
		t.Errorf("a page that comes back gets %v", events)
	}
	p.same(t, w, "after coming back")
	if events := follow("00000000-1.7"); events[0] != "board" {
		t.Errorf("a page with the cursor of another process gets %v", events)
	}
	p.same(t, w, "after a restart")
}

func TestTheStreamOfOneFleetHasItsDetail(t *testing.T) {
	w := newWorld(t)
	w.advance(4, 1)
	watching(t, w, "/v1/stream?fleet=thumbs", "", func(_, event string, data []byte) bool {
		if event != "fleet" {
			return true
		}
		var d board.Detail
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatal(err)
		}
		if d.Row.Backlog.Value != 4 || len(d.Status.Members) != 3 || d.Explanation == nil {
			t.Errorf("found %s", data)
		}
		return false
	})
}

func TestWhatCannotBeAnswered(t *testing.T) {
	w := told(t)
	for path, says := range map[string]string{
		"/v1/stream?fleet=z":                      "404 there is no fleet",
		"/v1/fleets/z":                            "404 there is no fleet",
		"/v1/fleets/z/series":                     "404 there is no fleet",
		"/v1/fleets/thumbs/series?points=0":       "400 points: found",
		"/v1/fleets/thumbs/series?points=2001":    "400 points: found",
		"/v1/fleets/thumbs/series?window=2401h":   "400 window: found",
		"/v1/fleets/thumbs/series?window=-1h":     "400 window: found",
		"/v1/fleets/thumbs/series?from=yesterday": "400 from: found",
		"/v1/fleets/thumbs/series?from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z": "400 from and to",
		"/v1/fleets/thumbs/decisions?limit=501":                                      "400 limit: found",
		"/v1/fleets/thumbs/decisions?before=x":                                       "400 before: found",
		"/v1/fleets/thumbs/decisions?since=1":                                        "400 since: found",
		"/v1/fleets/thumbs/logs?limit=-1":                                            "400 limit: found",
		"/v1/decisions/thumbs/1.999":                                                 "404 has no decision 1.999",
		"/v1/decisions/thumbs/9.1":                                                   "404 has no decision 9.1",
		"/v1/decisions/thumbs/x":                                                     "400 allowed is the position",
		"/v1/curves?fleets=" + strings.Repeat("a,", 100):                             "400 at most 100",
	} {
		answer := w.ask("GET", path, "")
		code, text, _ := strings.Cut(says, " ")
		if body := answer.Body.String(); code != map[int]string{400: "400", 404: "404", 200: "200"}[answer.Code] ||
			!strings.Contains(body, text) {
			t.Errorf("GET %.80s: found %d %s, want %s", path, answer.Code, body, says)
		}
	}
}

func TestDecisionsAreFilteredAndPaged(t *testing.T) {
	w := told(t)
	all := get[board.Decisions](w, "/v1/fleets/thumbs/decisions").Decisions
	if len(all) < 4 {
		t.Fatalf("found %d decisions: the test would prove nothing", len(all))
	}
	for query, selects := range map[string]func(board.Short) bool{
		"verdict=apply":                func(d board.Short) bool { return d.Verdict == "apply" },
		"reason=steady":                func(d board.Short) bool { return d.Reason == "steady" },
		"policy=exact":                 func(board.Short) bool { return true },
		"policy=other":                 func(board.Short) bool { return false },
		"q=MAXIMUM":                    func(d board.Short) bool { return strings.Contains(d.Sentence, "maximum") },
		"changes=1":                    func(d board.Short) bool { return d.Desired != d.Previous },
		"since=2026-03-01T12:00:03Z":   func(d board.Short) bool { return !d.At.Before(t0.Add(3 * time.Second)) },
		"until=2026-03-01T12:00:03Z":   func(d board.Short) bool { return d.At.Before(t0.Add(3 * time.Second)) },
		"limit=500&before=1.999999999": func(board.Short) bool { return true },
	} {
		var want []board.Short
		for _, d := range all {
			if selects(d) {
				want = append(want, d)
			}
		}
		got := get[board.Decisions](w, "/v1/fleets/thumbs/decisions?"+query).Decisions
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", query, got, want)
		}
	}
	var paged []board.Short
	for next := ""; ; {
		a := get[board.Decisions](w, "/v1/fleets/thumbs/decisions?limit=1&before="+next)
		paged = append(paged, a.Decisions...)
		if next = a.Next; next == "" || len(paged) > len(all) {
			break
		}
	}
	if !slices.Equal(paged, all) {
		t.Errorf("one by one there are %d decisions, at once %d", len(paged), len(all))
	}
}

func TestQueuesArePurgedAndRedriven(t *testing.T) {
	w := told(t)
	if a := w.ask("POST", "/v1/queues/thumbs-dead/messages", `{"body":"one"}`); a.Code != http.StatusNotFound {
		t.Fatalf("the route of the server answers %d without queues", a.Code)
	}
	send := func(queue string) {
		t.Helper()
		if _, err := w.queues.Import(t.Context(), queue, strings.NewReader(`{"body":"one"}`+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	send("thumbs-dead")
	answer := w.ask("POST", "/v1/queues/thumbs-dead/redrive", `{"to":"thumbs"}`)
	if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), `"to":"thumbs"`) {
		t.Errorf("the redrive: found %d %s", answer.Code, answer.Body)
	}
	send("thumbs-dead")
	if a := w.ask("POST", "/v1/queues/thumbs-dead/purge", ""); a.Code != http.StatusNoContent {
		t.Errorf("the purge: found %d %s", a.Code, a.Body)
	}
	for path, code := range map[string]int{"/v1/queues/none/purge": 404, "/v1/queues/none/redrive": 404,
		"/v1/queues/thumbs/redrive": 400} {
		if a := w.ask("POST", path, "{}"); a.Code != code {
			t.Errorf("POST %s: found %d %s", path, a.Code, a.Body)
		}
	}
	for _, body := range []string{"", "{", `{"what":1}`, `{"per_second":-1}`, `{"per_second":100000}`} {
		if a := w.ask("POST", "/v1/queues/thumbs-dead/redrive", body); a.Code != http.StatusBadRequest {
			t.Errorf("redrive with %q: found %d %s", body, a.Code, a.Body)
		}
	}
	if a := w.ask("GET", "/v1/queues/thumbs-dead/moves", ""); a.Code != http.StatusOK {
		t.Errorf("the moves: found %d %s", a.Code, a.Body)
	}
}

// TestNothingOfTheBoardIsOpen asks every route without a token, and with the session of a reader for a change.
func TestNothingOfTheBoardIsOpen(t *testing.T) {
	w := told(t)
	for _, route := range w.live.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.NewReplacer("{fleet}", "thumbs", "{queue}", "thumbs", "{position}", "1.1").Replace(path)
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		r.Host = "127.0.0.1:9325"
		r.AddCookie(&http.Cookie{Name: session.CookieName, Value: "guessed"})
		answer := httptest.NewRecorder()
		w.serves.ServeHTTP(answer, r)
		if answer.Code != http.StatusUnauthorized {
			t.Errorf("%s without a token: found %d", route.Pattern, answer.Code)
		}
	}
}
