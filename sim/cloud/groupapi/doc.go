// Package groupapi has the members of the API of EC2 Auto Scaling: what its actions take and answer, the states of
// instances, and the checks that need no group. Its names are those of the API, so that one who knows the API knows
// them. Pointers are members that may be absent.
//
// What the actions do is in package groups.
package groupapi
