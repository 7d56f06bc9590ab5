// Package advise is what muster advise does: it reads what the history recorded of a fleet and applies the rules of
// package advice. It replays the recorded work in the simulator before and after each advised change, and prints the
// result. It changes nothing.
//
//	found, err := advise.Make(ctx, h, advise.Request{Config: c, Fleet: "photos", From: from, To: now})
//	found.Print(os.Stdout)
//
// [Make] reads the window twice at most: once for the figures and the trace together, and once more when the trace is
// too long to replay, for its newest part. Every run is the production controller in virtual time, with the fleet's own
// policy, so the effect of a change is what the same work would have come to:
//
//	history --advice.Collector--> figures --advice.Of--> advice
//	        \-recorded.Builder--> trace --simulation.OfFleet, before and after--> effects
//
// An advice that makes messages late in the simulation, or costs more for the same share in time, is not given: it goes
// to [Found].Declined with both results. What cannot be simulated says why in [Advised].NotSimulated. [Window] reads
// the length of a window, and [Found] is the result as JSON.
//
// The rules are in package advice and know no history. The arrivals and durations come from sim/trace/recorded, which
// says how they were reconstructed; muster advise repeats that. A position in the file comes from the text itself,
// because a configuration keeps no places.
package advise
