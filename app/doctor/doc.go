// Package doctor checks, without changing anything, whether a configuration can work: credentials and region, whether
// queues, groups and services exist and may be read, who else sizes them, and what each source and fleet can do.
//
// [Examine] checks what the configuration names; [Running] checks what a running Muster reports about itself. Use it
// before the first start, and when something does not work. Package explain says why a fleet has its size.
package doctor
