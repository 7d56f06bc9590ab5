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
	"github.com/muster-scale/muster/app/doctor"
	"github.com/muster-scale/muster/app/status"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/built"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/worker/protocol"
)

// A fleet that is not sized stands beside one that is: status and doctor say which, and why.
func TestAFleetThatDoesNotRunIsSaidByStatusAndDoctor(t *testing.T) {
	standing := map[string]server.Standing{
		"jobs": {Phase: "running"},
		"others": {Phase: "failed", Since: time.Now(), Failure: "the disk is full",
			RetryAt: time.Now().Add(time.Second)},
	}
	s := server.NewStatus(built.Development, time.Now(),
		map[string]server.Fleet{"jobs": sizedFleet{}, "others": sizedFleet{}}, standing)
	var text bytes.Buffer
	if err := status.Print(&text, s, func(string) string { return "" }); err != nil {
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
	found := fmt.Sprint(running(t.Context(), &command.Global{}, c))
	if !strings.Contains(found, "{others muster up wrong the fleet is not sized since") ||
		!strings.Contains(found, "sizes 1 of 2 fleets") {
		t.Errorf("doctor finds %s", found)
	}
}

// A fleet whose parts are all there may still get nothing done: doctor does not call that ok.
func TestDoctorFindsWorkThatFailsOrHangs(t *testing.T) {
	for _, row := range []struct {
		name     string
		progress muster.Progress
		level    doctor.Level
		has      string
	}{
		{"most attempts fail", muster.Progress{Failed: 20, Finished: 3, LastError: "exit status 1"}, doctor.Wrong,
			"20 attempts failed in the last 5 minutes, last error: exit status 1; muster status and "},
		{"few do", muster.Progress{Failed: 1, Finished: 300}, doctor.Note, "1 attempt failed in the last 5 minutes"},
		{"a message hangs", muster.Progress{Finished: 300, Held: 1, HeldLongest: 90, HeldBy: "jobs.1"}, doctor.Wrong,
			"1 message in progress has taken longer than the objective, 1m30s so far at jobs.1; "},
		{"a message may be late",
			muster.Progress{Finished: 300, Held: 1, InTime: muster.Measured(time.Now(), 0.995)}, doctor.Note,
			"1 message in progress has taken longer than the objective"},
		{"all is well", muster.Progress{Finished: 300, LastError: "long ago"}, doctor.OK,
			"it runs, and sizes 1 of 1 fleet"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := muster.Observation{Objective: muster.Objective{Quantile: 0.99}, Progress: &row.progress}
			s := server.Status{Fleets: []server.FleetStatus{{Name: "jobs", Ready: true, Observation: o}}}
			found := doctor.Running(s)
			if found[0].Level != row.level || !strings.HasPrefix(found[0].Text, row.has) {
				t.Errorf("found %+v, want %s: %s", found, row.level, row.has)
			}
		})
	}
}

// A fleet that is taken down waits for as long as its work takes: status says what it waits for.
func TestStatusSaysWhatAFleetThatStopsIsWaitingFor(t *testing.T) {
	f := server.FleetStatus{Phase: "stopping", Members: []server.MemberStatus{
		{ID: "jobs.1", Busy: 1, HeldSeconds: 90.2}, {ID: "jobs.2"}, {ID: "jobs.3", Busy: 2, HeldSeconds: 5},
	}}
	want := "stopping: its workers finish their messages in progress: jobs.1 has worked on 1 message for 1m30s, " +
		"jobs.3 has worked on 2 messages for 5s"
	if got := status.Lifeline(f); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// sizedFleet is a fleet that was seen.
type sizedFleet struct{}

// Report implements [server.Fleet].
func (sizedFleet) Report(context.Context, protocol.Report) (protocol.Directive, error) {
	return protocol.Directive{}, nil
}

// Last implements [server.Fleet].
func (sizedFleet) Last() (controller.Outcome, bool) { return controller.Outcome{Ready: true}, true }

// Wake implements [server.Fleet].
func (sizedFleet) Wake() {}
