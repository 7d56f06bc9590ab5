// Package arch checks the structure of the project with tests: which package may import which, who may
// read a clock, how long functions and files may be, and what must be documented. A failing test says
// why the rule exists and what to do.
package arch
