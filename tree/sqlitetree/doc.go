// Package sqlitetree keeps trees in one SQLite file, for all processes of a machine.
//
// [Store] is a tree.Store. Any number of goroutines and processes may have the file open at once; what a step keeps is
// on disk when Step returns. [Open] makes the file, and refuses one that is damaged, newer than this program or of
// another program.
//
//	store, err := sqlitetree.Open("data/trees.db")
//	defer store.Close()
//
// After a failed sync the store acknowledges nothing more, because it is not known what the disk has.
//
// For something else: workers on several machines use package tree/dynamotree, tests package tree/treetest. What a step
// may do is decided by package tree alone; package tree/runner works on nodes.
package sqlitetree
