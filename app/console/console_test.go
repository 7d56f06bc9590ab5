package console

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/internal/render"
)

// logNoon is when the records of these tests are from, each a second after the one before.
var logNoon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)

func TestFailuresAreSaidAtMostOnceAMinute(t *testing.T) {
	logs := t.TempDir()
	l := joblog.Open(logs, "f", "w", nil)
	l.Write(joblog.Record{At: logNoon, Kind: joblog.Failed, Message: "m", Text: "exit status 1",
		Failure: &joblog.Failure{At: logNoon, Message: "m", Error: "exit status 1",
			Output: "looking\nconvert: not found\x1b"}})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := New(&out, logs, "")
	for i := range 150 { // a step each second, each with a failure
		s.failed("f", logNoon.Add(time.Duration(i)*time.Second), 1)
	}
	want := "12:00:01 f 2 attempts failed; last error: exit status 1 (convert: not found\\x1b). Retrying with " +
		"back-off. See muster logs f\n" +
		"12:01:01 f 60 attempts failed within 59s; last error: exit status 1 (convert: not found\\x1b). Retrying " +
		"with back-off. See muster logs f\n" +
		"12:02:01 f 60 attempts failed within 59s. Retrying with back-off. See muster logs f\n"
	if got := out.String(); got != want {
		t.Errorf("said\n%s\nwant\n%s", got, want)
	}
}

func TestAStopSaysWhoIsBusyAndForHowLong(t *testing.T) {
	if got := busyText(nil); !strings.Contains(got, "no worker is known to have a message in progress") {
		t.Errorf("said %q", got)
	}
	var all []busyMember
	for i := range 25 {
		all = append(all, busyMember{"f", controller.MemberView{ID: fmt.Sprintf("f-%d", i), Busy: 1 + i%2,
			HeldSeconds: 80}})
	}
	got := busyText(all)
	for _, want := range []string{"f: f-0 has worked on 1 message for 1m20s\n",
		"f: f-1 has worked on 2 messages for 40s on average\n", "and 5 more workers\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("said\n%s\nwant %q in it", got, want)
		}
	}
	if n := strings.Count(got, "\n"); n != maxBusyTold+1 {
		t.Errorf("said %s", render.Plural(n, "line"))
	}
}
