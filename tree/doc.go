// Package tree keeps the exact account of recursive work: which nodes of a tree are open, and when its root is done.
//
// A message names one node of a tree. The work on it may name children, which become nodes and messages of their own,
// until no node names any. A node is absent, waiting, claimed, sent, done or failed:
//
//	absent --Register--> waiting --room--> claimed --in the queue--> sent --Finish--> done
//	                        ^                                         |------Fail---> failed
//	                        +---- root paused, Retry -----------------+
//
// Waiting nodes wait in the store for the limits. A claimed node is about to be sent, and its claimer answers for that:
// the node whose message caused the sending, or the operator.
//
// The main types:
//
//   - [Root] is one tree with its [Counts], and [Node] one node of it.
//   - A step, such as [Submit], [Begin] or [Finish], is a function of a [View]: a root and the nodes concerned. It
//     returns a [Change], which is stored as a whole or not at all, and an [Outcome]: the nodes to send and the end to
//     announce.
//   - [Store] keeps roots and nodes, and makes each step atomic.
//   - [Expect] and [Root.Outlook] estimate the messages to come, for a policy and for a person.
//
// A step through a store:
//
//	err := store.Step(ctx, tree.BeginWant("photos", id), func(v tree.View) (c tree.Change, err error) {
//		c, begun, err = tree.Begin(v, now)
//		return c, err
//	})
//
// Invariants:
//
//   - created = done + failed + open at all times, where open = waiting + out.
//   - A node's ID follows from its root, its parent and its key. Naming the same children again names the same nodes.
//   - Children are counted in the change that names them, before their parent is done. So the count of open nodes
//     reaches zero only when the whole tree is done.
//   - A node is settled once in a round, as done or failed. Whatever arrives for it later changes nothing.
//   - A message is deleted only after everything that its node answers for was sent. After a crash between any two
//     steps the message arrives again and the rest is sent then.
//
// The package is the account alone: values in, new values and effects out. It knows no I/O, clock, randomness, queue or
// worker.
//
// Use package tree/runner to let a worker work on nodes, and tree/sqlitetree (one machine) or tree/dynamotree (many) to
// store trees; tree/treetest stores them in memory for tests. docs/trees.md explains trees to users.
package tree
