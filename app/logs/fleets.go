package logs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/internal/misuse"
)

// Fleets returns the names of the local fleets that are configured or have a log, sorted.
func Fleets(c *config.Config) []string {
	names := joblog.Fleets(app.LogsDir(c.Data))
	for _, f := range c.Fleets {
		if f.Local() {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// maxNamed bounds the names that an error lists.
const maxNamed = 20

// FleetOf returns the named fleet or, without a name, the only fleet with a log. Errors are about the request.
func FleetOf(c *config.Config, name string) (string, error) {
	names := Fleets(c)
	for _, f := range c.Fleets {
		if f.Name == name && !f.Local() {
			return "", misuse.Errorf("the workers of fleet %s run on AWS and not on this machine: their output is "+
				"there, for instance in CloudWatch Logs", name)
		}
	}
	switch {
	case slices.Contains(names, name):
		return name, nil
	case name == "" && len(names) == 1:
		return names[0], nil
	case name == "" && len(names) > 1:
		return "", misuse.Errorf("several fleets have logs, name one: %s", strings.Join(names, ", "))
	}
	text := fmt.Sprintf("there is no log of a fleet %.100q; there is %s", name,
		misuse.Names(names[:min(maxNamed, len(names))], maxNamed))
	if name == "" {
		text = fmt.Sprintf("there is no log in %s, and no fleet in the configuration: name it with -f FILE", c.Data)
	}
	if near := config.Suggest(name, names); near != "" {
		text += "; " + near
	}
	return "", misuse.Errorf("%s", text)
}
