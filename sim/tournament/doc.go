// Package tournament plays policies on worlds that are drawn at random ([PlayDrawn]) or have a name ([PlayNamed]), as
// muster worlds does, judges the first policy beside the others ([Drawn.Verdict], [NamedVerdict]) and prints what came
// of it. The worlds are those of package sim/worlds. Traces of your own are compared by package sim/comparison.
package tournament
