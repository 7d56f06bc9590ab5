package queue

import (
	"encoding/json"
	"fmt"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// extras are the parts of a message that most messages do not have; they are
// kept as one JSON text, which a person can read in the file.
type extras struct {
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	Trace      string               `json:"trace,omitempty"`
}

// encodeExtras returns nil for a message without any.
func encodeExtras(m *Outgoing) ([]byte, error) {
	if len(m.Attributes) == 0 && m.Trace == "" {
		return nil, nil
	}
	return json.Marshal(extras{m.Attributes, m.Trace})
}

// messageOf puts together what a receiver sees.
func messageOf(r *machine.Record, d machine.Delivery, receipt string, fifo bool) (Message, error) {
	m := Message{
		ID: rules.FormatUUID(r.ID), Receipt: receipt, Body: r.Body, GroupID: r.Group, DeduplicationID: r.Dedup,
		Source: r.Source,
		Sent:   rules.FromMillis(d.Sent), FirstReceived: rules.FromMillis(d.First), ReceiveCount: int(d.Count),
		Digest: r.Digest,
	}
	if fifo {
		m.SequenceNumber = formatSequence(d.Seq)
	}
	if len(r.Attributes) > 0 {
		var x extras
		if err := json.Unmarshal(r.Attributes, &x); err != nil {
			return m, fmt.Errorf("%w: read the attributes of message %s: %w", ErrStorage, m.ID, err)
		}
		m.Attributes, m.Trace = x.Attributes, x.Trace
	}
	return m, nil
}

// formatSequence makes the sequence number of a FIFO message; 20 digits hold
// every sequence.
func formatSequence(seq uint64) string { return fmt.Sprintf("%020d", seq) }

// versionUUID turns 16 random bytes into a version 4 UUID.
func versionUUID(b [16]byte) [16]byte {
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return b
}

// identify gives a message that is sent its id and the checksum of what it is sent with.
func identify(r *machine.Record) {
	r.ID = newID()
	r.Sum = r.Checksum()
}
