package main

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
//	needFile   a file must exist: check, plan, doctor, publish
//	load       every key matters, and any fault ends the command with exit code 2: up, simulate -f, doctor
//	place      only the addresses and the data directory matter: status, explain, queue, tree, env
//
// A broken file must not keep an operator from looking at what runs, so the commands of the last line use place.

// defaultFile is read without -f, if it exists.
const defaultFile = "muster.yaml"

// file returns the path of the configuration: the one of -f, or [defaultFile] if that exists, or else an empty path. A
// directory of that name does not count.
func (g *global) file() string {
	if g.config != "" {
		return g.config
	}
	if stat, err := os.Stat(defaultFile); err == nil && stat.Mode().IsRegular() {
		return defaultFile
	}
	return ""
}

// needFile returns the path of the configuration for a command that makes no sense without one; its error says how to
// get one.
func (g *global) needFile(command string) (string, error) {
	path := g.file()
	if path == "" {
		return "", usage(fmt.Errorf("%s: there is no %s here: name the configuration with -f FILE, or write one "+
			"with muster init", command, defaultFile))
	}
	return path, nil
}

// empty is the configuration without a file: one embedded queue at the standard addresses, and no fleet.
func empty() *config.Config {
	return &config.Config{Data: ".muster", Listen: config.Listen{Queue: "127.0.0.1:9324", API: "127.0.0.1:9325"}}
}

// load reads the configuration, or returns the empty one when there is no file. It knows every kind of queue and fleet,
// because [kinds.Load] does.
func (g *global) load() (*config.Config, error) {
	path := g.file()
	if path == "" {
		return empty(), nil
	}
	c, err := kinds.Load(path)
	return c, usage(err)
}

// place reads only where a program with this configuration runs: its addresses and its data directory. Another fault in
// the file does not matter for that; it is kept for [global.printFault].
func (g *global) place() (*config.Config, error) {
	path := g.file()
	if path == "" {
		return empty(), nil
	}
	c, fault, err := kinds.LoadPlace(path)
	if err != nil {
		return nil, usage(err)
	}
	g.fault = fault
	return c, nil
}

// printFault tells the user about a fault that did not matter to the command, because muster up still runs with the
// configuration before it. With -o json nothing is printed.
func (g *global) printFault(errOut io.Writer) {
	if faults, ok := errors.AsType[config.Faults](g.fault); ok && !g.json() {
		fmt.Fprintf(errOut, "muster: this is what runs, although the configuration has %s; muster check shows all: "+
			"%s\n",
			render.Plural(len(faults), "fault"), faults[0].String())
	}
}
