package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/server"
)

// A fleet that is not sized stands beside one that is: status and doctor say which, and why.
func TestAFleetThatDoesNotRunIsSaidByStatusAndDoctor(t *testing.T) {
	standing := map[string]server.Standing{
		"jobs":   {Phase: "running"},
		"others": {Phase: "failed", Since: time.Now(), Failure: "the disk is full", RetryAt: time.Now().Add(time.Second)},
	}
	s := server.NewStatus(development, time.Now(), map[string]server.Fleet{"jobs": sizedFleet{}, "others": sizedFleet{}}, standing)
	var text bytes.Buffer
	if err := printStatus(&text, s, func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "others: the fleet is not sized since") ||
		!strings.Contains(text.String(), "the disk is full; ") {
		t.Errorf("status says\n%s", &text)
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewEncoder(w).Encode(s); err != nil {
			t.Error(err)
		}
	}))
	defer api.Close()
	dir := t.TempDir()
	if _, err := server.LoadOrCreateToken(dir + "/api-token"); err != nil {
		t.Fatal(err)
	}
	c := &config.Config{Data: dir, Listen: config.Listen{API: strings.TrimPrefix(api.URL, "http://")}}
	found := fmt.Sprint(running(t.Context(), &global{}, c))
	if !strings.Contains(found, "{others muster up wrong the fleet is not sized since") ||
		!strings.Contains(found, "sizes 1 of 2 fleets") {
		t.Errorf("doctor finds %s", found)
	}
}

// sizedFleet is a fleet that was seen.
type sizedFleet struct{}

// Report implements [server.Fleet].
func (sizedFleet) Report(context.Context, muster.Report) (muster.Directive, error) {
	return muster.Directive{}, nil
}

// Last implements [server.Fleet].
func (sizedFleet) Last() (controller.Outcome, bool) { return controller.Outcome{Ready: true}, true }

// Wake implements [server.Fleet].
func (sizedFleet) Wake() {}
