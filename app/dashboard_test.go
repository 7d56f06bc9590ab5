package app_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/server/board"
	"github.com/muster-scale/muster/server/session"
)

// get decodes the answer to a GET of a browser.
func get[T any](t *testing.T, browser *http.Client, at string) (into T) {
	t.Helper()
	resp, err := browser.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: found %d, %v: %s", at, resp.StatusCode, err, body)
	}
	if err := json.Unmarshal(body, &into); err != nil {
		t.Fatalf("GET %s: %v", at, err)
	}
	return into
}

// TestABrowserSeesARunningMuster opens the link of a real App over a real connection: it logs in, sees the fleet, its
// curves and the configuration, and a reload that was refused.
func TestABrowserSeesARunningMuster(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "muster.yaml")
	const text = `version: 1
data: data
listen: {queue: "127.0.0.1:0", api: "127.0.0.1:0"}
dashboard: {prefix: /muster}
fleets:
  - name: jobs
    queue: jobs
    max: 2
    shadow: true
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := kinds.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	said := make(chan string, 10)
	a, err := app.Open(ctx, c, app.Options{Logger: slog.New(slog.DiscardHandler), Watch: file,
		Told: func(text string) { said <- text }})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})

	link, err := url.Parse(a.DashboardLink(session.Operator))
	if err != nil || link.Path != "/muster/" {
		t.Fatalf("the link is %s, %v", link, err)
	}
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, Timeout: 20 * time.Second}
	at := a.APIURL() + "/muster/v1/"
	resp, err := browser.Post(at+"session", "application/json", strings.NewReader(`{"code":"`+
		strings.TrimPrefix(link.Fragment, "login=")+`"}`))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the login: %v, %v", resp, err)
	}
	resp.Body.Close()
	if s := get[server.Session](t, browser, at+"session"); !s.Writes {
		t.Errorf("the session is %+v", s)
	}
	var found board.Board
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for len(found.Fleets) == 0 || found.Fleets[0].State != board.Meeting {
		<-tick.C
		found = get[board.Board](t, browser, at+"board")
	}
	if f := found.Fleets[0]; f.Name != "jobs" || f.State != board.Meeting || f.Max.Value != 2 {
		t.Errorf("found %+v", f)
	}
	for known := false; !known; {
		<-tick.C
		for _, n := range get[board.Series](t, browser, at+"fleets/jobs/series?window=1m").Columns["max"] {
			known = known || n.Known && n.Value == 2
		}
	}
	if err := os.WriteFile(file, []byte(strings.Replace(text, "max: 2", "max: -1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for text := range said {
		if strings.Contains(text, "not taken over") {
			break
		}
	}
	shown := get[board.Configuration](t, browser, at+"configuration")
	if shown.LastReload == nil || shown.LastReload.OK || len(shown.Faults) != 1 || shown.File != file ||
		len(shown.Reloads) != 1 || len(shown.Waiting) > 0 {
		t.Errorf("after a refused reload the page shows %+v", shown)
	}
	for _, v := range shown.Values {
		if v.Path == "fleets[0].max" && (v.Value != "2" || v.Line != 8 || v.Source != "file") {
			t.Errorf("the maximum is shown as %+v", v)
		}
	}
}
