package work

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/worker/execution"
)

// A worker that a fleet has started takes what it is to do out of its environment: the values of its command's
// variables are for the command alone.
func TestAStartedWorkerTakesWhatItIsTold(t *testing.T) {
	text, err := app.Started{
		Queues: []string{"http://127.0.0.1:1/0/q"}, DeadLetter: "http://127.0.0.1:1/0/d", Data: "/data",
		Workers: config.Workers{
			Command: []string{"x", "$HOME"}, Slots: 3, Batch: 2, Idle: time.Minute, Retry: 2 * time.Second,
			Log: "debug",
			Env: []string{"B", "A=1", `C=a,"b`},
		},
	}.Text()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(app.WorkVariable, text)
	unset := ""
	var s Settings
	ok, err := s.TakeStarted(func(string) (string, bool) { return text, true },
		func(name string) error { unset = name; return nil })
	if err != nil || !ok || unset != app.WorkVariable {
		t.Fatalf("found %t, %v, and %q unset; want it taken out of the environment", ok, err, unset)
	}
	if err := s.Execution.SortVariables(); err != nil {
		t.Fatal(err)
	}
	c := s.Execution.Command
	if !slices.Equal(c.Argv, []string{"x", "$HOME"}) || !slices.Equal(c.Env, []string{"B"}) ||
		!slices.Equal(c.Set, []string{"A=1", `C=a,"b`}) {
		t.Errorf("the command is %+v", c)
	}
	o := s.Options
	if o.Slots != 3 || o.Batch != 2 || o.IdleStop != time.Minute || o.RetryBase != 2*time.Second ||
		s.Placement.Protection != "none" ||
		s.Reporting.Every != time.Minute || s.Log.String() != "DEBUG" || s.Execution.Data != "/data" {
		t.Errorf("found %+v, %+v, %+v", o, s.Placement, s.Reporting)
	}
	if ok, err := s.TakeStarted(func(string) (string, bool) { return "", false }, nil); ok || err != nil {
		t.Errorf("without a fleet: found %t, %v; want that nothing is told", ok, err)
	}
	if _, err := s.TakeStarted(func(string) (string, bool) { return `{"wrong": 1}`, true }, nil); err == nil ||
		!strings.Contains(err.Error(), app.WorkVariable) {
		t.Errorf("what cannot be read: found %v, want an error that says where it stands", err)
	}
}

func TestAValueCannotStandInForWhatMusterTellsACommand(t *testing.T) {
	m := Execution{Command: execution.Command{Env: []string{"MUSTER_MESSAGE_ID=x"}}}
	if err := m.SortVariables(); err == nil {
		t.Error("it was taken")
	}
}
