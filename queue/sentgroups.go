package queue

import (
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// MaxSentGroups bounds the groups of [Counts].ReturnedSent, so that its size does not depend on the
// queue's.
const MaxSentGroups = 32

// SentGroup is a number of messages that were sent at about the same time.
type SentGroup struct {
	// Oldest is the time of sending of the oldest of them.
	Oldest   time.Time
	Messages int
}

// sentGroups groups the entries of a heap whose keys are times of sending into MaxSentGroups spans of
// equal length. Empty spans are left out. The first node of a heap is its oldest.
func sentGroups(nodes []machine.Node) []SentGroup {
	if len(nodes) == 0 {
		return nil
	}
	oldest, newest := nodes[0].Key, nodes[0].Key
	for _, n := range nodes {
		newest = max(newest, n.Key)
	}
	span := (newest-oldest)/MaxSentGroups + 1
	var first [MaxSentGroups]int64
	var messages [MaxSentGroups]int
	for _, n := range nodes {
		i := (n.Key - oldest) / span
		if messages[i] == 0 || n.Key < first[i] {
			first[i] = n.Key
		}
		messages[i]++
	}
	groups := make([]SentGroup, 0, MaxSentGroups)
	for i, n := range messages {
		if n > 0 {
			groups = append(groups, SentGroup{rules.FromMillis(first[i]), n})
		}
	}
	return groups
}
