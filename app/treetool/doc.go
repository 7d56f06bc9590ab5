// Package treetool implements muster tree. It opens trees ([Trees]), describes and prints them ([StatusOf],
// [Status.Print]), watches one until it ends ([Watch]) and reads lists of children ([OpenManifest]).
//
// Use it to inspect and operate trees. Their rules are in package tree, the operations in [runner.Operator], and the
// work on nodes in package tree/runner.
package treetool
