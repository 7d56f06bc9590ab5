package main

// whyWorst says, by the number of a drawn world, why another policy has a smaller loss there than deadline. The sentences
// are written by hand for the worst worlds on docs/quality.md; a world without one has an empty cell there.
var whyWorst = map[uint64]string{}
