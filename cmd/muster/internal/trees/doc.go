// Package trees has muster tree and its subcommands: they submit trees, list and watch them, retry failed nodes, pause,
// resume, cancel and remove trees.
//
// [New] makes the command with its subcommands. All of them open the store of the trees, do one thing and close it, so
// none needs a running muster up and none keeps the file open. What they do is in the packages app/treetool and
// tree/runner; this one has flags, checks of their values, and output.
//
// A subcommand names its tree by the ID that submit printed or got by --id. Pausing, cancelling or submitting the same
// tree a second time changes nothing, because a script may be interrupted anywhere.
package trees
