package lease

import (
	"slices"
	"strings"
	"unicode"

	"github.com/muster-scale/muster/worker/protocol"
)

// Incident records a problem that the rest of a report does not show. The text describes it and is cut to one line of
// at most [protocol.MaxIncidentText] bytes. It must hold no part of a message but its id.
func (l *Lease) Incident(kind protocol.IncidentKind, text string) {
	incidents := slices.Clone(l.incidents) // copies of a lease are independent, and so are its reports
	i, known := slices.BinarySearchFunc(incidents, kind, func(a protocol.Incident, b protocol.IncidentKind) int {
		return strings.Compare(string(a.Kind), string(b))
	})
	if !known {
		if len(incidents) == protocol.MaxIncidents {
			return
		}
		incidents = slices.Insert(incidents, i, protocol.Incident{Kind: kind})
	}
	incidents[i].Count++
	incidents[i].Text = oneLine(text, protocol.MaxIncidentText)
	l.incidents = incidents
}

// oneLine returns the beginning of a text, at most most bytes, with control characters as spaces.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	if len(text) > most {
		const cut = "…"
		text = strings.ToValidUTF8(text[:most-len(cut)], "") + cut
	}
	return text
}
