// Package treetest has a store of trees in memory, for tests: the stores on disk and in the cloud are compared with it.
//
// [Memory] is a tree.Store; its zero value is ready and empty. It forgets everything when the process ends. It is also
// the shortest description of what a store must do:
//
//	store := &treetest.Memory{}
//	err := store.Step(ctx, tree.SubmitWant(spec), step)
//
// For real work use package tree/sqlitetree or tree/dynamotree.
package treetest
