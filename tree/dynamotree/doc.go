// Package dynamotree keeps trees in a table of Amazon DynamoDB, for workers on any number of machines.
//
// [Store] is a tree.Store over an [API], which is the part of the client that it calls. A [Creator] can make the table.
// [Failure] is an error that says what was attempted.
//
// All of a tree has the tree's name as partition key. Its root is one element with a version; a step writes the root
// under the condition that the version is still the one it read, in one transaction with the nodes, and is made anew
// when it is not. So steps of one tree come one after the other, some tens a second; different trees do not meet.
//
// For something else: workers of one machine use package tree/sqlitetree, which is faster and costs nothing. What a
// step may do is decided by package tree alone.
package dynamotree
