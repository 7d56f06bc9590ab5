// Package config reads, completes and checks the configuration: one YAML file, read strictly.
//
// The main types:
//
//   - [Config] is the whole of it. [Fleet] is one fleet with its queues, objective, limits, policy and [Workers];
//     [Queue] is one embedded queue.
//   - [Kinds] is what the caller passes in: the kinds of fleets, queues and signals. The package itself knows none of
//     them. It depends only on what a kind's statement returns, such as [Facts]: whether workers report,
//     which number is set.
//   - [Fault] is one thing that is wrong, and [Faults] all of them.
//
// [Parse] is pure and works in three steps: decode (types, unknown and repeated keys, variables), complete, check. All
// three collect faults instead of stopping at the first. Every fault has its place in the text: a person gets the whole
// list at once, with the line, a caret and, for a misspelt word, the word that was probably meant.
//
//	c, err := config.Load("muster.yaml", kinds.Table().Config())
//
// [CheckCommands] checks the commands on this machine; it is apart because it does I/O. [Schema] and [Reference]
// are made from the same declarations as the reader, so they cannot disagree with it.
//
// Variables stand only in texts: ${NAME}, or ${NAME:-default} for a variable that may be unset; $$ is a dollar. Aliases
// and anchors of YAML are refused: each value stands where it applies.
//
// Each step relies on the one before it:
//
//	decode   the text as it is: no default, every value bound to its field, and its place remembered by its path
//	fill     defaults, in the order of the declarations, so that one default may follow from another value
//	check    ranges, and whatever depends on several values; a value that could not be decoded has no second fault
//
// The package keeps these invariants:
//
//   - A [Config] that Parse returned is valid and complete. Nothing changes it afterwards.
//   - A zero that is stated differs from a key that is absent. Checks ask the source whether the text has the key.
//   - No key, hint or check of one kind stands here. A kind's folder has them, and [Kinds] brings them in.
//
// What is valid and still suspicious is a remark: [Config.Remarks] and [Config.CoreRemarks] return those, and muster
// check prints them. A remark never keeps a configuration from being used.
//
// For something else: package kinds reads a configuration with all kinds of this program, package config/keys declares
// keys, package config/foreign reads the files of other autoscalers, and package app runs what was read.
package config
