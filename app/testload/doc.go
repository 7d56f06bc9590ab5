// Package testload sends test messages to a queue at a given rate, as muster send does.
//
//	l := testload.Load{Count: 100, Duration: 2 * time.Second, Spread: 0.5, Seed: 1, Rate: 20}
//	bodies, err := l.Make(os.Stdin)
//	sent, err := l.Send(ctx, client, url, bodies, os.Stderr)
//
// [Load.Make] makes all bodies before the first is sent, so that a fault in a file is found in time. The same seed
// makes the same bodies. Their content says how long the work takes, for muster sleep-body, or comes from the lines of
// a file.
//
// Package sim/trace makes the load of simulated runs.
package testload
