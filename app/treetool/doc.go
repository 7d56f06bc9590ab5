// Package treetool does what muster tree does: it opens trees for their operator ([Trees]), describes and prints them
// ([StatusOf], [Status.Print]), watches one to its end ([Watch]) and reads lists of children ([OpenManifest]).
//
// Use it to look at trees and to act on them. The rules of trees are in package tree, what acts on them is
// [runner.Operator], and work on nodes is done by package tree/runner.
package treetool
