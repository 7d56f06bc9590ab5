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

// defaultFile is the default configuration, if it exists.
const defaultFile = "muster.yaml"

// file returns the named configuration, or else the default one; empty if there is none.
func (g *global) file() string {
	if g.config != "" {
		return g.config
	}
	if stat, err := os.Stat(defaultFile); err == nil && stat.Mode().IsRegular() {
		return defaultFile
	}
	return ""
}

// needFile returns the configuration, for a command that needs one.
func (g *global) needFile(command string) (string, error) {
	path := g.file()
	if path == "" {
		return "", usage(fmt.Errorf("%s: there is no %s here: name the configuration with -f FILE, or write one "+
			"with muster init", command, defaultFile))
	}
	return path, nil
}

// empty is the configuration that is used when there is no file.
func empty() *config.Config {
	return &config.Config{Data: ".muster", Listen: config.Listen{Queue: "127.0.0.1:9324", API: "127.0.0.1:9325"}}
}

// load reads the configuration, or returns the empty one when there is no file.
func (g *global) load() (*config.Config, error) {
	path := g.file()
	if path == "" {
		return empty(), nil
	}
	c, err := kinds.Load(path)
	return c, usage(err)
}

// place reads where the program with this configuration runs. Another fault in the file does not matter for that: it is
// kept for [global.noted].
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

// noted prints the fault that did not matter.
func (g *global) noted(errOut io.Writer) {
	if faults, ok := errors.AsType[config.Faults](g.fault); ok && !g.json() {
		fmt.Fprintf(errOut, "muster: this is what runs, although the configuration has %s; muster check shows all: "+
			"%s\n",
			render.Plural(len(faults), "fault"), faults[0].String())
	}
}
