package keys

import "fmt"

// Suggest returns a question that names the most similar of words, or "" when none is similar: did you mean "exact"?
func Suggest(found string, words []string) string {
	best := nearest(found, words)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// nearest returns the most similar of words, or "" when none is similar enough: a third of the letters, and one more,
// may differ.
func nearest(found string, words []string) string {
	best, least := "", len(found)/3+2
	for _, w := range words {
		if d := distance(found, w); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance returns the number of letters to insert, delete, change or swap to get from a to b (the optimal string
// alignment distance). Long texts are never similar, which bounds the work.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	before, last, row := []int(nil), []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
