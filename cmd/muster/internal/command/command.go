// Package command has what all commands of muster share: the flags -f and -o, the configuration that -f names, the exit
// codes, and how results and errors are printed. The commands themselves are in cmd/muster, and large groups of them in
// the packages simulations, queues and trees next to this one.
//
// A command gets a [Global] when it is made, and reads it in RunE, after the flags are parsed:
//
//	c, err := g.Load()     // or Place, NeedFile, File: see configuration.go
//	if err != nil {
//		return err
//	}
//	...
//	if g.JSON() {
//		return command.PrintJSON(cmd.OutOrStdout(), result)
//	}
//
// It returns an error and never ends the process: [Usage] marks wrong usage, and an [Exit] carries any other exit code.
// The package decides nothing about queues or fleets.
package command

import (
	"encoding/json"
	"io"
)

// Global holds the flags that every command has. Each command gets the same pointer when it is made, before the flags
// are parsed; so it reads the fields only in RunE.
type Global struct {
	// Config is the value of -f; empty for the default file. Read it with File, NeedFile, Load or Place.
	Config string
	// Output is the value of -o: text or json.
	Output string
	// fault is a fault of the configuration that does not matter to the command: see [Global.Place].
	fault error
}

// JSON tells whether the result is printed as JSON.
func (g *Global) JSON() bool { return g.Output == "json" }

// PrintJSON prints v as indented JSON. Fields have tags, and the documented ones are part of the contract: see docs/.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // people read it, and it never becomes part of a page
	e.SetIndent("", "  ")
	return e.Encode(v)
}
