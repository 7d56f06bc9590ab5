// Package config reads, defaults and validates the configuration: one YAML file, read strictly.
//
// [Parse] is pure. It works in three steps: decode (types, unknown and repeated keys, variables), default, validate.
// All three collect faults instead of stopping at the first, and every fault has its place in the text: a person gets
// the whole list at once, with the line, a caret and, for a misspelt word, the word that was probably meant.
// [CheckCommands] looks for the commands on this machine and is apart because it does I/O.
//
// Variables stand only in texts: ${NAME}, or ${NAME:-default} for a variable that may be unset; $$ is a dollar. Aliases
// and anchors of YAML are refused: each value stands where it applies.
package config
