package main

import (
	"os"
	"strings"
	"testing"
)

func TestQueueMetricsCanBeLeftOut(t *testing.T) {
	for _, row := range []struct {
		name, setting string
		read          bool
	}{{"by default", "", true}, {"left out", "aws: {queue_metrics: false}\n", false}} {
		t.Run(row.name, func(t *testing.T) {
			server, file := onFakeECS(t, nil, groupWeb)
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, []byte(strings.Replace(string(text), "fleets:", row.setting+"fleets:", 1)),
					0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			code, out, errOut := runMuster(t, "plan", "-f", file)
			if n := server.Calls("GetMetricData"); code != 0 || (n > 0) != row.read {
				t.Errorf("metrics were read %d times, want some: %v; %s%s", n, row.read, out, errOut)
			}
		})
	}
}
