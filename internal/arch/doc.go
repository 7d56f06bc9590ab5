// Package arch holds the structure of the project as tests: which package may import which, who may read a clock, how
// long functions and files may be, what must be documented. A failing test says why the rule is there and what to do.
package arch
