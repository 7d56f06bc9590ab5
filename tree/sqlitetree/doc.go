// Package sqlitetree stores trees in one SQLite file, for all processes of one machine.
//
// [Store] is a tree.Store. Any number of goroutines and processes may have the file open at once. [Open] creates the
// file, and refuses one that is damaged, newer than this program or of another program.
//
//	store, err := sqlitetree.Open("data/trees.db")
//	defer store.Close()
//
// How it keeps the contract of tree.Store:
//
//   - A step is one transaction that takes SQLite's write lock at its beginning. Steps of all processes therefore come
//     one after the other, and none is repeated.
//   - What a step stored is on disk when Step returns: the log is synced at each commit.
//   - Reading roots and nodes uses other connections and never waits for a step (write-ahead logging).
//   - After a failed sync the store refuses everything, because the content of the disk is unknown.
//
// The file has a row for each root, with the root as JSON, and a row for each node. Partial indexes hold only the
// waiting, claimed and failed nodes, so that millions of finished nodes cost nothing.
//
// The package decides nothing: what a step may do is decided by package tree. Use package tree/dynamotree for workers
// on several machines, tree/treetest for tests, and tree/runner to work on nodes.
package sqlitetree
