// Package worlds draws simulated worlds at random from a wide, stated distribution: how long work takes and how far
// that varies, how messages arrive, how long workers boot, how tight the objective is, what fails, and what is known
// beforehand. A policy that is judged by worlds it has never met cannot be tuned to them.
//
//	w := worlds.Draw(17)                      // a world from its number alone
//	p, err := worlds.Prepare(w)               // its trace, measured
//	outcome, err := worlds.Play(ctx, w, p, contender)
//	duels := worlds.Duels("deadline", outcomes)
//
// [Draw] makes a [World] from its number: the same number gives the same world and the same [World.Digest]. [Play] runs
// one contender in it and returns an [Outcome]. [Duels] pairs a policy with the best other one of each world.
// [Quantities] describes the distribution for tables. [Named] worlds are those in which an autoscaler once failed
// badly; [All] lists them with the limits that a policy must keep there.
//
// The distribution is part of published results: a change of [Draw] makes other worlds of the same numbers. So new
// quantities are drawn last, from where no other draw depends on them.
//
// For something else: package sim/world describes one world for the simulator, sim/contest runs contenders on traces of
// any origin, and sim/tournament plays many worlds and prints them.
package worlds
