package stack

import (
	"encoding/json"
	"strings"

	"github.com/muster-scale/muster/deploy/dashboard"
)

// widgets returns the JSON of a dashboard with a line for each widget: a line that changes is then one graph.
func widgets(d dashboard.CloudWatchDashboard) (string, error) {
	var lines []string
	for _, w := range d.Widgets {
		line, err := json.Marshal(w)
		if err != nil {
			return "", err
		}
		lines = append(lines, string(line))
	}
	return "{\"widgets\": [\n" + strings.Join(lines, ",\n") + "\n]}", nil
}
