// Conversions between the messages of the API and the records that are stored.

package queue

import (
	"encoding/json"
	"fmt"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// extras are the parts that most messages do not have. They are stored as one JSON text, which a person
// can read in the file.
type extras struct {
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	Trace      string               `json:"trace,omitempty"`
}

// encodeExtras returns nil for a message without extras, so that most rows need no JSON.
func encodeExtras(m *Outgoing) ([]byte, error) {
	if len(m.Attributes) == 0 && m.Trace == "" {
		return nil, nil
	}
	return json.Marshal(extras{m.Attributes, m.Trace})
}

// messageOf returns the message that a receiver sees: the stored record r with the times and counts of
// the delivery d. fifo adds the sequence number, which standard queues do not show. The error is
// ErrStorage if the stored attributes are not valid JSON.
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

// formatSequence returns the sequence number of a FIFO message as text. 20 digits hold every uint64,
// and a fixed width makes texts sort as numbers do.
func formatSequence(seq uint64) string { return fmt.Sprintf("%020d", seq) }

// versionUUID turns 16 random bytes into a version 4 UUID (RFC 9562, section 5.4).
func versionUUID(b [16]byte) [16]byte {
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return b
}

// identify gives a new message its id and checksum. The checksum covers the id, so it is computed last.
func identify(r *machine.Record) {
	r.ID = newID()
	r.Sum = r.Checksum()
}
