package roster

import (
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

// Retries returns the messages that wait for their retry as the workers of all members reported them: how many, and
// since when the oldest was sent, in seconds. It is false where no worker has reported, or one does not tell. What a
// worker gave back that has ended since is not among them.
func (r Roster) Retries(now time.Time) (protocol.Retries, bool) {
	sum, reported := protocol.Retries{}, false
	for i := range r.members {
		for k := range r.members[i].Workers {
			w := &r.members[i].Workers[k]
			switch {
			case w.Seq == 0:
				continue
			case w.Retries == nil:
				return protocol.Retries{}, false
			}
			reported = true
			if w.Retries.Messages == 0 {
				continue
			}
			sum.Messages += w.Retries.Messages
			if age := w.Retries.OldestSeconds; age > 0 {
				sum.OldestSeconds = max(sum.OldestSeconds, age+max(0, now.Sub(w.ReportedAt).Seconds()))
			}
		}
	}
	return sum, reported
}
