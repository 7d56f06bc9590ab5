// Package override keeps the time-limited instructions of operators for one fleet. All of them are one concept, an
// [Override]: a reservation of workers, a pause, other limits, or a hold of scale-in, each with a reason, a begin and
// an end.
//
//	o := override.Override{Kind: override.Reserve, Workers: 40, Begin: at, End: at.Add(30 * time.Minute)}
//	if err := o.Check(now); err != nil {
//		return err
//	}
//	list := list.With(o)
//	least, most := list.Limits(now, limits.Min, limits.Max)
//
// The main types:
//
//   - [Override] is one instruction; [Override.Text] says it in words, as a decision does.
//   - [List] is what holds for a fleet, at most [Most]. It is a value: every method returns a new list.
//   - [Grant] is what a reservation gets, computed by [Room.Grant] when it is asked for.
//
// How they act on a decision:
//
//   - A reservation raises the size to the reserved workers from one boot time before its begin until its end; that
//     time is kept as [Grant].LaunchAt. Reservations that overlap add up. It counts all workers in service, those that
//     work already included.
//   - A reservation ends early when it is used up: at one time after its begin, as many workers were busy as all
//     current reservations hold. From then on demand alone sizes the fleet.
//   - A pause holds the size. A hold of scale-in lets it rise alone.
//   - Limits narrow those of the configuration and never widen them.
//
// The controller keeps the list in its state and in every recorded decision, so a restart changes nothing and a
// decision is recomputed from its record. Package policy applies it, and package controller adds, cancels and ends.
//
// Everything here is pure: a time is an argument. The package must not know policies, fleets or their history.
package override
