package config_test

import (
	"strings"
	"testing"

	"github.com/muster-scale/muster/config"
)

func TestMoreLocalWorkersThanCoresAreRemarkedOn(t *testing.T) {
	const local, away = "queue: q, workers: {command: [x]}", "queue: https://sqs.eu-west-1.amazonaws.com/1/q, asg: " +
		"{group: g}"
	for _, row := range []struct {
		name, fleet string
		cores       int
		says        []string
	}{
		{"as many as there are", "max: 4, " + local, 4, nil},
		{"more than there are", "max: 5, " + local, 4, []string{":20: remark: found max 5 on a machine with 4 cores",
			"work that mostly waits", "muster simulate --cores 4"}},
		{"one core", "max: 2, " + local, 1, []string{"with 1 core,"}},
		{"instances have cores of their own", "max: 50, " + away, 4, nil},
		{"nothing is known of the machine", "max: 50, " + local, 0, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			remarks := parse(t, "version: 1\nfleets:\n  - {name: f, "+row.fleet+"}").CoreRemarks(row.cores)
			if len(row.says) == 0 {
				if len(remarks) > 0 {
					t.Errorf("found %v, want none", remarks)
				}
				return
			}
			if len(remarks) != 1 || remarks[0].Kind != config.IsRemark || remarks[0].Line != 3 ||
				remarks[0].Path != "fleets[0].max" {
				t.Fatalf("found %v, want one at max", remarks)
			}
			for _, text := range row.says {
				if !strings.Contains(remarks[0].String(), text) {
					t.Errorf("%q does not say %q", remarks[0], text)
				}
			}
		})
	}
}
