//go:build race

package main

// raced tells whether the race detector watches. What only computes then leaves its rule to the run without it.
const raced = true
