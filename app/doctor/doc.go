// Package doctor checks, without changing anything, whether a configuration can work: credentials and region, whether
// queues, groups and services exist and may be read, who else sizes them, and what each source and fleet can do.
//
// [Examine] checks what the configuration names, and needs no running Muster. [Running] checks what a running Muster
// reports about itself. Both return findings, each with a [Level]:
//
//	wrong       it cannot work so, or it does not work now
//	unchecked   only a write could tell, such as a permission to write
//	note        it works, but may not be what was meant
//	ok          it was checked and works
//
// A check that fails is a finding and never stops the others: a user wants to see all problems at once. Each system is
// called once and with a time limit, so that one that does not answer cannot hold up the rest.
//
// The package knows no kind of fleet or queue. The rows of package kinds describe what they read and write. Use it
// before the first start, and when something does not work. Package app/explain says why a fleet has its size.
package doctor
