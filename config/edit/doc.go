// Package edit changes values in the text of a configuration, for questions of the kind "what if".
//
//	whole, part, err := edit.Fleet(c.Text(), "thumbs", "exact", []string{"max=20", "scale_in.stabilization=5m"})
//
// The whole text goes through the same parser as every configuration. So what a replay accepts, muster check accepts,
// and the part to copy is what was run. Comments and the order of keys stay.
package edit
