// Package explain says why a fleet has its size: it finds a recorded decision in the history ([Find]) or the present
// one of the running muster up ([Explained.Present]), prints it ([Print]), recomputes decisions ([Verify]) and compares
// with a system that sizes the fleet ([Against]). The arithmetic of an explanation is in package controller.
package explain
