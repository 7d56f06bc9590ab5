// Package guard judges whether a fleet is quiet enough for a deployment. The judgement is one pure function of what a
// controller knows, so that muster guard, the HTTP API and a Lambda function answer alike.
//
// Call [Judge] with the outcome of the newest step:
//
//	j := guard.Judge(guard.Facts{
//		Fleet: "thumbnails", At: now, Sized: outcome.Ready,
//		Observation: outcome.Observation, Decision: outcome.Decision,
//		Logs: guard.Logs{Kept: true, LastAt: newestLine},
//	})
//	if !j.Quiet {
//		return errors.New(j.Sentence())
//	}
//
// It makes these checks, and each has its evidence in the answer, whether it is busy or quiet:
//
//   - control: the fleet is sized, and its state is recent;
//   - scaling: the size does not change, and no worker boots, drains or waits for its end;
//   - workers: no worker has a message in progress;
//   - work: no message waits, is in flight or waits for retry, and no tree runs;
//   - logs: the workers wrote nothing to their log within [Facts].LogQuiet.
//
// Unknown counts as busy: a deployment that waits for nothing costs minutes, and one that interrupts work costs the
// work. Where no log of the workers is kept, or a queue does not count delayed messages, the check says so and does
// not count.
//
// Judge by a fresh reading: make a step first, or wake the fleet and wait for one. Counts of messages that are older
// than half a minute are unknown.
//
// A caller without a step of its own, such as a hook that only reads a status over HTTP, fills in [Facts] from that
// status. Facts without an observation are judged busy.
//
// The package must not know how facts are read, nor what is deployed. A quiet answer is about one instant: to keep the
// fleet as it is during a rollout, hold its scale-in with an instruction of package override.
package guard
