// Batches: ids of entries, and results that list successes and failures.

package action

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// batchID is the id of a batch entry, by which the caller finds it in the result.
type batchID struct {
	ID string `json:"Id"`
}

func (b batchID) entryID() string { return b.ID }

// maxBatchID is the longest id of a batch entry, in bytes.
const maxBatchID = 80

// checkIDs validates the number of entries and their ids, which must be distinct. kind is AWS's name of
// an entry.
func checkIDs[E interface{ entryID() string }](kind string, entries []E) error {
	if len(entries) == 0 {
		return &queue.Error{Kind: queue.ErrEmptyBatch, Text: "There should be at least one " + kind +
			" in the request."}
	}
	if len(entries) > queue.MaxBatch {
		return &queue.Error{Kind: queue.ErrTooManyEntries,
			Text: fmt.Sprintf("Maximum number of entries per request are %d. You have sent %d.", queue.MaxBatch,
				len(entries))}
	}
	// A batch has at most ten entries, so comparing all pairs is fine.
	for i, e := range entries {
		id := e.entryID()
		if len(id) < 1 || len(id) > maxBatchID || !isName(id) {
			return protocol.Typed("InvalidBatchEntryId", protocol.CodePrefix+"InvalidBatchEntryId", 400,
				"A batch entry id can only contain alphanumeric characters, hyphens and underscores. "+
					"It can be at most 80 letters long.")
		}
		if slices.ContainsFunc(entries[:i], func(before E) bool { return before.entryID() == id }) {
			return protocol.Typed("BatchEntryIdsNotDistinct", protocol.CodePrefix+"BatchEntryIdsNotDistinct", 400,
				"Id %s repeated.", id)
		}
	}
	return nil
}

// isName says whether s has only letters, digits, hyphens and underscores.
func isName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// failedEntry says why one entry of a batch failed. SenderFault means that repeating it unchanged is
// useless.
type failedEntry struct {
	ID          string `json:"Id"`
	SenderFault bool
	Code        string
	Message     string
}

// failed returns the result of an entry that failed with err.
func failed(id string, err error) failedEntry {
	f := protocol.FaultOf(err)
	// AWS words the same refusal differently in a batch.
	text := strings.Replace(f.Text, "One or more parameters are invalid.",
		"One or more parameters cannot be validated.", 1)
	return failedEntry{id, f.Sender(), f.Code, text}
}

// entriesResult lists the entries of a batch whose success has no details. As at AWS, an empty list is
// left out.
type entriesResult struct {
	Successful []batchID     `json:",omitempty"`
	Failed     []failedEntry `json:",omitempty"`
}

// outcome turns one error for each entry into a result. An error about the whole request, such as a
// missing queue or failed storage, fails the request.
func outcome(ids []string, errs []error) (entriesResult, error) {
	result := entriesResult{Successful: make([]batchID, 0, len(ids))}
	for i, err := range errs {
		if err == nil {
			result.Successful = append(result.Successful, batchID{ids[i]})
			continue
		}
		// A missing queue or failed storage concerns every entry.
		if f := protocol.FaultOf(err); !f.Sender() || f.Shape == "QueueDoesNotExist" {
			return entriesResult{}, err
		}
		result.Failed = append(result.Failed, failed(ids[i], err))
	}
	return result, nil
}
