package queue

import "time"

// MaxSentGroups bounds the groups of [Counts].ReturnedSent.
const MaxSentGroups = 32

// SentGroup are messages that were sent at about the same time.
type SentGroup struct {
	// Oldest is when the oldest of them was sent.
	Oldest   time.Time
	Messages int
}

// sentGroups groups the entries of a heap that is ordered by when they were sent, into spans of equal length.
func sentGroups(nodes []node) []SentGroup {
	if len(nodes) == 0 {
		return nil
	}
	oldest, newest := nodes[0].key, nodes[0].key
	for _, n := range nodes {
		newest = max(newest, n.key)
	}
	span := (newest-oldest)/MaxSentGroups + 1
	var first [MaxSentGroups]int64
	var messages [MaxSentGroups]int
	for _, n := range nodes {
		i := (n.key - oldest) / span
		if messages[i] == 0 || n.key < first[i] {
			first[i] = n.key
		}
		messages[i]++
	}
	groups := make([]SentGroup, 0, MaxSentGroups)
	for i, n := range messages {
		if n > 0 {
			groups = append(groups, SentGroup{fromMillis(first[i]), n})
		}
	}
	return groups
}
