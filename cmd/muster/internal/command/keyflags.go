package command

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/muster-scale/muster/config/keys"
)

// KeyFlags declares a flag for each key of a configuration that can be an option, except those in without. So muster
// work has the same settings, names, units and checks as workers: in a configuration, and a new key needs no new flag.
// notes are added, by flag, to the key's description: what differs on a command line.
func KeyFlags(f *pflag.FlagSet, all []keys.Key, notes map[string]string, without ...string) {
	for _, o := range keys.Options(all) {
		if slices.Contains(without, o.Name) {
			continue
		}
		flag := f.VarPF(keyFlag{o}, o.Name, "", o.What+notes[o.Name])
		// A truth key is set by the bare flag, as in --json-lines.
		if o.Form == keys.TruthForm {
			flag.NoOptDefVal = "true"
		}
	}
}

// keyFlag is the value of a flag for a key.
type keyFlag struct{ keys.Option }

// Type implements [pflag.Value]: it names the value in the help.
func (k keyFlag) Type() string {
	switch {
	case k.List:
		return "strings"
	case k.Form == keys.TruthForm:
		return "bool"
	case k.Form == keys.WholeForm:
		return "int"
	case k.Form == keys.DurationForm:
		return "duration"
	}
	return "string"
}
