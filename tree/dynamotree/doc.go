// Package dynamotree stores trees in a table of Amazon DynamoDB, for workers on any number of machines.
//
// [Store] is a tree.Store over an [API], the part of the DynamoDB client that it calls. [Create] makes the table
// through a [Creator]. A [Failure] is an error of the table that says what was attempted.
//
//	store := dynamotree.New(dynamodb.NewFromConfig(config), "muster-trees")
//	err := store.Step(ctx, want, step)
//
// How it keeps the contract of tree.Store:
//
//   - All of a tree has the tree's name as partition key. The root is one element with a version number.
//   - A step reads the root and the nodes with consistent reads, and computes its change. One transaction then writes
//     the root and the nodes, under the condition that the version is still the one that was read.
//   - If another worker was faster, the step is computed again after a random pause. So steps of one tree come one
//     after the other, some tens a second; different trees do not wait for each other.
//   - A transaction has at most 100 elements. Therefore a step takes fewer nodes than the general bound, see
//     [Store.Batch].
//
// A local index holds the waiting, claimed and failed nodes by what is to be done with them, so that a step never scans
// finished nodes.
//
// The package decides nothing: what a step may do is decided by package tree. For workers of one machine use package
// tree/sqlitetree, which is faster and costs nothing.
package dynamotree
