package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-scale/muster/config"
)

func TestThePlaceIsReadOfAFileWithFaults(t *testing.T) {
	const place = "data: d\nlisten: {queue: \"127.0.0.1:1\", api: \"127.0.0.1:2\"}\n"
	for _, row := range []struct{ name, text, data, queue, api string }{
		{"no fault", "version: 1\n" + place, "d", "127.0.0.1:1", "127.0.0.1:2"},
		{"an unknown key", "version: 1\n" + place + "fleats: []\n", "d", "127.0.0.1:1", "127.0.0.1:2"},
		{"a fleet with faults", "version: 1\n" + place + "fleets: [{name: a, min: 9, max: 1}]\n", "d", "127.0.0.1:1",
			"127.0.0.1:2"},
		{"no version", place, "d", "127.0.0.1:1", "127.0.0.1:2"},
		{"no YAML below", "version: 1\n" + place + "fleets:\n  - {name: a\n", "d", "127.0.0.1:1", "127.0.0.1:2"},
		{"no YAML above", "fleets: [\n" + place, "d", "127.0.0.1:1", "127.0.0.1:2"},
		{"over several lines", "queues: ]\ndata: d\nlisten:\n  # here\n  queue: 127.0.0.1:1\n\n  api: " +
			"127.0.0.1:2\nfleets: }\n", "d", "127.0.0.1:1", "127.0.0.1:2"},
		{"the place itself is broken", "version: 1\ndata: [a]\nlisten: {queue: 7, api: \"127.0.0.1:2\"}\n", ".muster",
			"127.0.0.1:9324", "127.0.0.1:2"},
		{"nothing of it can be read", "\x00", ".muster", "127.0.0.1:9324", "127.0.0.1:9325"},
		{"one line", "{version: 1, data: d, fleats: []}", "d", "127.0.0.1:9324", "127.0.0.1:9325"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "muster.yaml")
			if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, fault, err := config.LoadPlace(path, all)
			if err != nil {
				t.Fatal(err)
			}
			if (fault == nil) != (row.name == "no fault") {
				t.Errorf("the fault is %v", fault)
			}
			if c.Data != filepath.Join(dir, row.data) || c.Listen.Queue != row.queue || c.Listen.API != row.api {
				t.Errorf(
					"found %s, %s and %s; want %s, %s and %s",
					c.Data,
					c.Listen.Queue,
					c.Listen.API,
					row.data,
					row.queue,
					row.api,
				)
			}
		})
	}
	if _, fault, err := config.LoadPlace(filepath.Join(t.TempDir(), "none"), all); err == nil || fault != nil {
		t.Errorf("of no file: %v, %v", fault, err)
	}
}
