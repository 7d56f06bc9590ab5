// Package contest runs policies against each other: ours and the peers, on the same traces, with the same random draws,
// the same limits and the same bill, beside the least that anyone could pay.
package contest
