package controller

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// Decided is the body of a [muster.Decided] record. Its Shared part is the policy's [policy.Spec].
type Decided struct {
	Observation muster.Observation `json:"observation"`
	Decision    muster.Decision    `json:"decision"`
}

// Intended is the body of a [muster.Intended] record. One of them is set.
type Intended struct {
	SetDesired *SetDesired `json:"set_desired,omitzero"`
	End        *End        `json:"end,omitzero"`
	Protect    *Protect    `json:"protect,omitzero"`
	Trim       *Trim       `json:"trim,omitzero"`
}

// ResultedBody is the body of a [muster.Resulted] record.
type ResultedBody struct {
	Effect  string `json:"effect"`
	Failure string `json:"failure,omitzero"`
}

// Changed is the body of a [muster.Changed] record: what became of one member.
type Changed struct {
	Member string        `json:"member"`
	What   roster.Change `json:"what"`
	// As is the name that a member has from then on; empty while its name stays.
	As string `json:"as,omitzero"`
	// Why explains it in words.
	Why string `json:"why,omitzero"`
	// Wasted is true for a launch that failed.
	Wasted bool `json:"wasted,omitzero"`
	// Desired is the desired size afterwards: it falls with a worker that left by itself.
	Desired int `json:"desired"`
	// Worker and Incident are set when something went wrong at a worker; its count is that since the worker started.
	Worker   string             `json:"worker,omitzero"`
	Incident *protocol.Incident `json:"incident,omitzero"`
}

func (s *Settings) record(at time.Time, kind muster.RecordKind, body any) muster.Record {
	text, _ := encode(body) // which says in the record what is wrong
	return s.encoded(at, kind, text)
}

// encoded is the record with a body that was encoded already.
func (s *Settings) encoded(at time.Time, kind muster.RecordKind, text []byte) muster.Record {
	r := muster.Record{At: at, Kind: kind, Body: text}
	if kind == muster.Decided {
		r.Shared = s.spec
	}
	return r
}
