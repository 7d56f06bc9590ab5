package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kinds"
)

// Commands differ in how much of the configuration they need:
//
//	NeedFile   a file must exist: check, plan, doctor, publish
//	Load       every key matters, and any fault ends the command with exit code 2: up, simulate -f, doctor
//	Place      only the addresses and the data directory matter: status, explain, queue, tree, env
//
// A broken file must not keep an operator from looking at what runs, so the commands of the last line use Place.

// DefaultFile is read without -f, if it exists.
const DefaultFile = "muster.yaml"

// File returns the path of the configuration: the one of -f, or [DefaultFile] if that exists, or else an empty path. A
// directory of that name does not count.
func (g *Global) File() string {
	if g.Config != "" {
		return g.Config
	}
	if stat, err := os.Stat(DefaultFile); err == nil && stat.Mode().IsRegular() {
		return DefaultFile
	}
	return ""
}

// NeedFile returns the path of the configuration for a command that makes no sense without one; its error says how to
// get one.
func (g *Global) NeedFile(command string) (string, error) {
	path := g.File()
	if path == "" {
		return "", Usage(fmt.Errorf("%s: there is no %s here: name the configuration with -f FILE, or write one "+
			"with muster init", command, DefaultFile))
	}
	return path, nil
}

// Empty returns the configuration without a file: one embedded queue at the standard addresses, and no fleet.
func Empty() *config.Config {
	return &config.Config{Data: ".muster", Listen: config.Listen{Queue: "127.0.0.1:9324", API: "127.0.0.1:9325"}}
}

// Load reads the configuration, or returns the empty one when there is no file. It knows every kind of queue and fleet,
// because [kinds.Load] does.
func (g *Global) Load() (*config.Config, error) {
	path := g.File()
	if path == "" {
		return Empty(), nil
	}
	c, err := kinds.Load(path)
	return c, Usage(err)
}

// Place reads only where a program with this configuration runs: its addresses and its data directory. Another fault in
// the file does not matter for that; it is kept for [Global.PrintFault].
func (g *Global) Place() (*config.Config, error) {
	path := g.File()
	if path == "" {
		return Empty(), nil
	}
	c, fault, err := kinds.LoadPlace(path)
	if err != nil {
		return nil, Usage(err)
	}
	g.fault = fault
	return c, nil
}

// Fault returns the fault of the configuration that [Global.Place] passed over; nil without one.
func (g *Global) Fault() error { return g.fault }

// PrintFault tells the user about a fault that did not matter to the command, because muster up still runs with the
// configuration before it. With -o json nothing is printed.
func (g *Global) PrintFault(errOut io.Writer) {
	if faults, ok := errors.AsType[config.Faults](g.fault); ok && !g.JSON() {
		fmt.Fprintf(errOut, "muster: this is what runs, although the configuration has %s; muster check shows all: "+
			"%s\n",
			render.Plural(len(faults), "fault"), faults[0].String())
	}
}
