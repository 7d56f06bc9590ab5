// Package curves keeps what fleets measured as curves, so that 30 days answer as fast as the last hour.
//
// The history of decisions is too large to draw from: a month of one fleet is hundreds of megabytes of JSON. So every
// few seconds the numbers of each fleet become a [Sample], and samples are folded into buckets of five widths. A fine
// bucket is kept for an hour, a coarse one for months:
//
//	store, err := curves.Open("data/curves.db")
//	store.Add("thumbs", now, sample)              // in memory
//	err = store.Flush(ctx, now)                   // writes the complete buckets, in one transaction
//	w, err := store.Read(ctx, "thumbs", from, to, 600)
//
// The main types:
//
//   - [Store] is one SQLite file, or memory for an empty path.
//   - [Column] is one number of a fleet, and says how its values in one bucket become one: the mean, the largest, or
//     the last.
//   - [Window] is the answer: at most the wanted number of values for each column, at even times.
//
// The package keeps these invariants:
//
//   - Unknown stays unknown. A bucket without a known value has none, and a time without samples is a gap: never 0, and
//     never a line drawn across it.
//   - The file is bounded: each fleet has at most [MaxRows] rows of about 170 bytes, which [Store.Flush] keeps.
//   - A read costs at most [MaxRows] rows, whatever the window: it takes the coarsest width that is fine enough.
//   - After a restart a bucket goes on: what is written is merged with what the file has.
//
// Losing the file loses pictures and no decision, so a damaged one is moved aside and begun anew, and writes are not
// forced to the disk at once. The package reads no clock; times are arguments.
//
// What was decided, and why, is in package history.
package curves
