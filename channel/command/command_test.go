package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-scale/muster/channel/command"
	"github.com/muster-scale/muster/incident"
)

func told() incident.Notice {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return incident.Notice{ID: "x/opened", Event: incident.Opened, At: at, Incident: incident.Incident{ID: "x",
		BeganAt: at, Condition: incident.Condition{Kind: incident.CrashLoop, Fleet: "thumbs",
			Sentence: "5 launches failed; $(touch /nowhere)", Command: "muster explain thumbs"}}}.From("web-1")
}

func TestAProgramGetsTheNoticeOnStandardInputAndInVariables(t *testing.T) {
	dir := t.TempDir()
	c := &command.Config{}
	c.Set([]string{"sh", "-c", `cat >notice.json; env | grep ^MUSTER_ >variables; echo "told $MUSTER_KIND"`})
	answer, err := c.Open(nil, dir).Send(t.Context(), told())
	if err != nil || answer != "told crash_loop" {
		t.Fatalf("answer %q, %v", answer, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "notice.json"))
	if err != nil {
		t.Fatal(err)
	}
	var n incident.Notice
	if err := json.Unmarshal(text, &n); err != nil || n.ID != "x/opened" || n.Incident.Fleet != "thumbs" {
		t.Errorf("found %s, %v", text, err)
	}
	set, err := os.ReadFile(filepath.Join(dir, "variables"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MUSTER_EVENT=opened", "MUSTER_KIND=crash_loop", "MUSTER_FLEET=thumbs",
		"MUSTER_SENTENCE=5 launches failed; $(touch /nowhere)", "MUSTER_COMMAND=muster explain thumbs",
		"MUSTER_HOST=web-1", "MUSTER_BEGAN_AT=2026-03-01T12:00:00Z", "MUSTER_ENDED_AT="} {
		if !strings.Contains("\n"+string(set), "\n"+want+"\n") {
			t.Errorf("found no %s in\n%s", want, set)
		}
	}
}

func TestAnExitCodeIsAFailureWithTheOutput(t *testing.T) {
	c := &command.Config{Command: []string{"sh", "-c", "echo no route >&2; exit 4"}}
	_, err := c.Open(nil, "").Send(t.Context(), told())
	if err == nil || !strings.Contains(err.Error(), "exit status 4: no route") {
		t.Errorf("found %v", err)
	}
	c = &command.Config{Command: []string{"no-such-program-here"}}
	if _, err := c.Open(nil, "").Send(t.Context(), told()); err == nil {
		t.Error("a program that does not exist delivered")
	}
}

func TestARunThatHangsIsKilled(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	c := &command.Config{Command: []string{"sh", "-c", "yes | head -c 100000; exec sleep 60"}}
	_, err := c.Open(nil, "").Send(ctx, told())
	if !errors.Is(err, context.DeadlineExceeded) || len(err.Error()) > 500 {
		t.Errorf("found %v", err)
	}
}

func TestAKilledRunLeavesNoProgramBehind(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// Reading a named pipe ends when every program that has it open for writing has ended.
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		read, err := os.Open(pipe)
		if err == nil {
			read.Read(make([]byte, 10))
			stop()
			_, err = io.ReadAll(read)
		}
		ended <- err
	}()
	c := &command.Config{Command: []string{"sh", "-c", `sh -c "echo begun; exec sleep 60" >pipe; exit 0`}}
	if _, err := c.Open(nil, dir).Send(ctx, told()); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAProgramThatLeavesAnotherOneRunningDelivers(t *testing.T) {
	c := &command.Config{Command: []string{"sh", "-c", "echo begun; sleep 5 &"}}
	if answer, err := c.Open(nil, "").Send(t.Context(), told()); err != nil || answer != "begun" {
		t.Errorf("answer %q, %v", answer, err)
	}
}
