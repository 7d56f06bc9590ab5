package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/server"
)

// streaming is a server whose connections send the given texts, one after the other; it keeps the cursors that come.
func streaming(t *testing.T, texts ...string) (c *config.Config, cursors *[]string) {
	t.Helper()
	data := t.TempDir()
	if _, err := server.LoadOrCreateToken(filepath.Join(data, app.TokenFile)); err != nil {
		t.Fatal(err)
	}
	cursors = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*cursors = append(*cursors, r.Header.Get("Last-Event-ID"))
		n := min(len(*cursors), len(texts))
		fmt.Fprint(w, texts[n-1])
	}))
	t.Cleanup(s.Close)
	return &config.Config{Data: data, Listen: config.Listen{API: strings.TrimPrefix(s.URL, "http://")}}, cursors
}

func TestABrokenStreamIsFollowedFromItsLastEventOn(t *testing.T) {
	c, cursors := streaming(t,
		"retry: 2000\n\nid: e.1\nevent: board\ndata: {}\n\n:\n\nid: e.2\nevent: change\ndata: {}\n\n",
		"id: e.3\nevent: change\ndata: {\"last\":true}\n\n")
	var events []string
	breaks, stop := 0, errors.New("enough")
	err := client.Follow(t.Context(), c, func(e client.Event) error {
		if events = append(events, e.Name+" "+string(e.Data)); len(events) == 3 {
			return stop
		}
		return nil
	}, func(err error) {
		if err != nil {
			breaks++
		}
	})
	if !errors.Is(err, stop) || breaks != 1 {
		t.Errorf("found %v after %d breaks", err, breaks)
	}
	if want := []string{"board {}", "change {}", `change {"last":true}`}; !slices.Equal(events, want) {
		t.Errorf("found %q, want %q", events, want)
	}
	if want := []string{"", "e.2"}; !slices.Equal(*cursors, want) {
		t.Errorf("the cursors were %q, want %q", *cursors, want)
	}
}

func TestAStreamOfNoMusterIsAnErrorAtOnce(t *testing.T) {
	c := &config.Config{Data: t.TempDir(), Listen: config.Listen{API: "127.0.0.1:1"}}
	err := client.Follow(t.Context(), c, func(client.Event) error { return nil }, func(error) {})
	if !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("found %v", err)
	}
	c, _ = streaming(t, "id: e.1\nevent: board\ndata: {}\n\n")
	ctx, stop := context.WithCancel(t.Context())
	err = client.Follow(ctx, c, func(client.Event) error { stop(); return nil }, func(error) {})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: found %v", err)
	}
}
