// Package box judges the policy in worlds drawn at random: beside other autoscalers, and beside the lower bound of the
// cost.
//
// A [Box] says which worlds are played, and [Box.Play] plays them (box.go), judges them (goals.go) and shows them
// (tables.go). Worlds for tuning are never judged. How a run is made is the matter of package arena, how a world is
// drawn that of package worlds.
package box
