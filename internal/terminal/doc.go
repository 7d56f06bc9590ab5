// Package terminal writes for people: how far long work is ([Progress]), and text of others so that it commands nothing
// ([Escape], [Clip], [ShellWord]). Use it in what prints results of commands. It formats no results itself.
package terminal
