package lease_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestLeaseReportsIncidentsUntilTheWorkerEnds(t *testing.T) {
	l := newLease()
	l.Incident(protocol.ReportFailed, "no answer")
	l.Incident(protocol.LeaseLost, "message 1")
	first := l.Report(at(1))
	l.Incident(protocol.LeaseLost, "message 2")
	second := l.Report(at(2))
	l.Obey(at(2), second, protocol.Directive{Ask: protocol.Work})
	third := l.Report(at(3))
	want := []protocol.Incident{{Kind: protocol.LeaseLost, Count: 1, Text: "message 1"},
		{Kind: protocol.ReportFailed, Count: 1, Text: "no answer"}}
	if diff := cmp.Diff(want, first.Incidents); diff != "" {
		t.Errorf("the first report (-want +got):\n%s", diff)
	}
	want[0].Count, want[0].Text = 2, "message 2"
	for _, r := range []protocol.Report{second, third} {
		if diff := cmp.Diff(want, r.Incidents); diff != "" {
			t.Errorf("a later report (-want +got):\n%s", diff)
		}
	}
}

func TestIncidentsAreBoundedAndBelieved(t *testing.T) {
	for _, text := range []string{"", "two\nlines\x1b[31m", strings.Repeat("é", 300), strings.Repeat("x", 199) + "é",
		"\xff\xfe", "\u202e\x00"} {
		l := newLease()
		for i := range 2 * protocol.MaxIncidents {
			l.Incident(protocol.IncidentKind("kind"+string(rune('a'+i))), text)
		}
		r := l.Report(at(1))
		if err := roster.Check(r); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if n := len(r.Incidents); n != protocol.MaxIncidents || !utf8.ValidString(r.Incidents[0].Text) {
			t.Errorf("%q: found %d incidents, the first %q", text, n, r.Incidents[0].Text)
		}
	}
}
