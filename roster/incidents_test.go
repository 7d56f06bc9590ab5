package roster_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

func incidents(all ...protocol.Incident) func(*protocol.Report) {
	return func(r *protocol.Report) { r.Incidents = all }
}

func incident(kind protocol.IncidentKind, count int64, text string) protocol.Incident {
	return protocol.Incident{Kind: kind, Count: count, Text: text}
}

func TestIncidentsThatCannotBe(t *testing.T) {
	many := make([]protocol.Incident, protocol.MaxIncidents+1)
	for i := range many {
		many[i] = incident(protocol.IncidentKind(fmt.Sprint("kind", i)), 1, "")
	}
	for _, row := range []struct {
		name string
		all  []protocol.Incident
		says string
	}{
		{"too many", many, "found 9 kinds of incidents, at most 8 are allowed"},
		{"one without a kind", []protocol.Incident{incident("", 1, "")}, "1 to 32 visible characters"},
		{"one with a giant kind", []protocol.Incident{incident(protocol.IncidentKind(strings.Repeat("k", 33)), 1, "")},
			"1 to 32 visible characters"},
		{"one whose kind cannot be seen", []protocol.Incident{incident("a\x1bb", 1, "")}, "1 to 32 visible characters"},
		{"one kind twice", []protocol.Incident{incident("a", 1, ""), incident("a", 2, "")}, "each kind once, sorted"},
		{"not sorted", []protocol.Incident{incident("b", 1, ""), incident("a", 2, "")}, "each kind once, sorted"},
		{"none of a kind", []protocol.Incident{incident("a", 0, "")}, "found 0 incidents of the kind a"},
		{"more than can be counted", []protocol.Incident{incident("a", 1_000_000_001, "")},
			"allowed is 1 to 1000000000"},
		{"a giant text", []protocol.Incident{incident("a", 1, strings.Repeat("x", 201))}, "one line of at most 200"},
		{"several lines", []protocol.Incident{incident("a", 1, "x\ny")}, "one line of at most 200"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := roster.Check(says("m", 1, protocol.Receiving, incidents(row.all...))); err == nil ||
				!strings.Contains(err.Error(), row.says) {
				t.Errorf("found error %v, want one that says %q", err, row.says)
			}
		})
	}
}

func TestAnIncidentIsToldOnceAMinute(t *testing.T) {
	var r roster.Roster
	var told []string
	more := int64(0)
	say := func(second float64, all ...protocol.Incident) {
		before := r.Clone()
		members := known(before)
		news := took(t, &r, says("m", second, protocol.Receiving, incidents(all...)))
		for _, i := range news.Incidents {
			told = append(told, fmt.Sprintf("%v: %s %d %s", i.At.Sub(at(0)).Seconds(), i.Kind, i.Count, i.Text))
		}
		more += news.More["lease_lost"]
		if known(before) != members {
			t.Errorf("at %v s a clone was changed", second)
		}
	}
	say(1)
	say(2, incident("lease_lost", 1, "a"))
	say(3, incident("lease_lost", 1, "a"))
	say(4, incident("lease_lost", 3, "b"), incident("protection", 1, "p"))
	say(63, incident("lease_lost", 4, "c"), incident("protection", 1, "p"))
	say(64, incident("lease_lost", 4, "c"), incident("protection", 1, "p"))
	say(124, incident("lease_lost", 4, "c"), incident("protection", 1, "p"))
	say(200, incident("lease_lost", 1, "anew")) // it was started again
	want := []string{"2: lease_lost 1 a", "4: protection 1 p", "63: lease_lost 4 c", "200: lease_lost 1 anew"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if more != 5 {
		t.Errorf("%d were counted, want 4 and 1 more of the one that was started again", more)
	}
	m := r.Members()[0]
	if got := m.Incidents(); len(got) != 2 || got[0].Text != "anew" || got[1].Text != "p" {
		t.Errorf("found %+v", got)
	}
}

func TestWhatAMemberRemembersOfIncidentsIsBounded(t *testing.T) {
	var r roster.Roster
	for worker := range 200 {
		all := make([]protocol.Incident, protocol.MaxIncidents)
		for i := range all {
			all[i] = incident(protocol.IncidentKind(fmt.Sprint("kind", i)), 1, "")
		}
		took(t, &r, says("m", 1, protocol.Receiving, incidents(all...),
			func(r *protocol.Report) { r.Worker = fmt.Sprint("w", worker) }))
	}
	m := r.Members()[0]
	if n := len(m.Incidents()); n != 64 {
		t.Errorf("%d incidents are remembered, want 64", n)
	}
}
