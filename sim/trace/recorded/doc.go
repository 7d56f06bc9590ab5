// Package recorded makes a trace of what a fleet's history recorded: its real arrivals and durations, for the simulator
// to replay under another configuration.
//
//	h, err := history.OpenReadOnly(path)
//	w, err := recorded.Read(ctx, h, "thumbnails", now.Add(-24*time.Hour), now)
//	t, err := w.Trace(recorded.Options{Seed: 1})
//	err = t.Each(func(m trace.Message) bool { ... })
//	fmt.Println(w.Notes()) // what is exact in it, and what is not
//
// A caller that reads the history anyway makes a [Builder] with [New], passes each record to [Builder.Add], and ends
// with [Builder.Window]. A [Window] is the result. It is plain data, so several goroutines may make traces of it, and
// its memory does not grow with the number of messages. Arrivals in the trace count from [Window].From: give that
// instant to world.World.Start, so that policies with a calendar see the same time of day.
//
// What the history has, and what becomes of it:
//
//   - Arrivals are numbers by interval: about 5 s for the last day, and 5 minutes in older records, which the history
//     folds. The messages of an interval are placed at random in it, by the seed. Waits much shorter than the interval
//     are therefore not those of the original.
//   - Durations are histograms of the messages that finished in an interval, about 5 s or an hour long. The k-th
//     arrival gets one of the durations among which the k-th finished message was, each duration once. If fewer
//     durations than arrivals were recorded, the rest is drawn from the durations of the same time. Each is exact
//     within 2 %, and the mean of each interval is exact.
//   - Messages that were in the queue when the window began are left out, and so are their durations.
//   - Arrivals at a queue that does not count them, such as one on SQS, follow from approximate counts. What a later
//     record corrects is taken back, except in folded records, which have no totals.
//   - Failed attempts are left out: the trace has each message once, with the duration of its successful attempt.
//   - Trees are flat: a child is a message that arrives.
//
// The package keeps these invariants:
//
//   - Unknown is not zero. A time in which arrivals were not counted is a [Gap], and no quiet time.
//   - The same records, window and seed give the same messages.
//   - The number of messages in the trace is the recorded number, within one for each fraction of a message that an
//     edge of the window cuts off.
//
// It only reads records. Package controller/learning writes them, package history keeps and folds them, and package
// controller/audit explains and recomputes recorded decisions. Whoever needs the messages themselves must have recorded
// them elsewhere: history has only their number and their durations.
package recorded
