// Package treetool implements muster tree. [Trees] opens trees, [StatusOf] and [Status.Print] describe and print them,
// [Watch] watches one until it ends, and [OpenManifest] reads lists of children.
//
//	trees := treetool.Trees{Place: place}
//	err := trees.With(ctx, false, func(store tree.Store, p *runner.Operator) error {
//		return p.Pause(ctx, "photos", "the disk is full")
//	})
//
// A store is open only during [Trees.With], so that no command keeps a file from being moved. Reading needs the store
// alone. Changing a tree may also send messages, with the keys of the embedded queue where they apply.
//
// Use the package to inspect and operate trees. Their rules are in package tree, the operations in [runner.Operator],
// and the work on nodes in package tree/runner.
package treetool
