// Package tree counts the open descendants of recursive work exactly, and says when a root is done.
//
// A message names one node of a tree. The work on it may name children, which become nodes and messages of their own,
// until there are none left. The package is the accounting alone: values go in, new values and effects come out,
// without I/O, clock or chance.
//
// The main types:
//
//   - [Root] is one tree with its [Counts], and [Node] one node of it.
//   - A step, such as [Submit], [Begin] or [Finish], is a function of a [View] of a root and of the nodes concerned. It
//     returns a [Change], to be kept whole or not at all, and an [Outcome]: what is to be sent.
//   - [Store] keeps roots and nodes. Package tree/treetest has the one that tests compare others with.
//
// A step through a store:
//
//	err := store.Step(ctx, tree.BeginWant("photos", id), func(v tree.View) (c tree.Change, err error) {
//		c, begun, err = tree.Begin(v, now)
//		return c, err
//	})
//
// What makes it exact:
//
//   - A node's ID follows from its root, its parent and its key. Naming the same children again names the same nodes.
//   - Children are counted in the change that names them, before their parent is done. So no node is open only when the
//     whole tree is done.
//   - A node is settled once, as done or failed. Whatever comes later for it (a duplicate, a late answer) changes
//     nothing.
//   - What is to be sent is kept with the name of the node whose message answers for the sending, its claimer. That
//     message is deleted only after everything it answers for was sent, so a crash between any two steps is made good
//     when the message comes again.
//
// At all times created = done + failed + open, where open = waiting + out.
//
// For something else: package tree/runner lets a worker work on nodes, packages tree/sqlitetree and tree/dynamotree
// keep trees. docs/trees.md explains them to users.
package tree
