// Package terminal writes for people at a terminal.
//
//   - [Progress] shows how far long work is: a bar on a terminal, plain lines elsewhere, nothing for
//     short work. [Stages] estimates the rest of work that has stages.
//   - [Escape] and [Clip] make text of other origin harmless: message bodies, names and errors may
//     contain characters that command a terminal.
//   - [ShellWord] quotes text for a command that a person can copy.
//
// Use it in code that prints results of commands. It does not format results: numbers are formatted by
// internal/render, tables by the commands.
package terminal
