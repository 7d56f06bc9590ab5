// Package treetest has a store of trees in memory, for tests: what keeps trees on a disk is compared with it.
//
// [Memory] is a tree.Store; its zero value is ready and empty. It keeps nothing beyond the process, and it is the
// shortest reading of what a store must do:
//
//	store := &treetest.Memory{}
//	err := store.Step(ctx, tree.SubmitWant(spec), step)
//
// For something else: packages tree/sqlitetree and tree/dynamotree keep trees for real work.
package treetest
