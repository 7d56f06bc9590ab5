package app

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kinds"
)

func TestWorkersAreToldWhatTheirFleetSays(t *testing.T) {
	data := t.TempDir()
	c := &config.Config{Data: data, Listen: config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}}
	a, err := Open(t.Context(), c, Options{Ephemeral: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	embedded := a.Endpoint() + "/000000000000/"
	told := func(dead, workers string) string {
		if dead != "" {
			dead = `"dead_letter":"QUEUE/` + dead + `",`
		}
		return `{"data":"DATA",` + dead + `"queues":["QUEUE/q"],"workers":{` + workers + `}}`
	}
	const usual = `"slots":1,"visibility":"30s"}`
	for _, row := range []struct{ name, fleet, want string }{
		{"a command", "workers: {command: [x, -y, '$$HOME']}",
			told("", `"batch":1,"boot":"1s","command":["x","-y","$$HOME"],`+usual[:len(usual)-1])},
		{"JSON lines, in batches", "workers: {command: x, json_lines: true, batch: 3, start_limit: 5m}",
			told("", `"batch":3,"boot":"1s","command":["x"],"json_lines":true,"slots":1,"start_limit":"5m","visibility":"30s"`)},
		{"a URL", "workers: {http: 'http://127.0.0.1:1/w', retry: 2s, log: debug}",
			told("", `"batch":1,"boot":"1s","http":"http://127.0.0.1:1/w","log":"debug","retry":"2s","slots":1,"visibility":"30s"`)},
		{"attempts", "workers: {command: x, max_attempts: 4, dead_letter: d}",
			told("d", `"batch":1,"boot":"1s","command":["x"],"max_attempts":4,"slots":1,"visibility":"30s"`)},
		{"what it is to its machine", "workers: {command: x, report: ['cloudwatch:App'], billing_period: 1h, " +
			"billing_start: 2026-01-02T03:04:05Z, lifecycle_hook: auto, env: [A, 'B=secret']}",
			told("", `"batch":1,"billing_period":"1h","billing_start":"2026-01-02T03:04:05Z","boot":"1s","command":["x"],`+
				`"env":["A","B=secret"],"lifecycle_hook":"auto","report":["cloudwatch:App"],"report_every":"1m",`+
				`"slots":1,"visibility":"30s"`)},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := kinds.Parse("m.yaml", []byte("version: 1\ndata: "+data+"\nfleets: [{name: f, queue: q, max: 1, "+
				row.fleet+"}]"))
			if err != nil {
				t.Fatal(err)
			}
			start, err := local{a}.Start(c.Fleets[0], c.Fleets[0].Parts()[0])
			if err != nil {
				t.Fatal(err)
			}
			if len(start.Argv) != 2 || !filepath.IsAbs(start.Argv[0]) || start.Argv[1] != "work" {
				t.Errorf("it is started by %q, want this program, as muster work: nothing for others to read",
					start.Argv)
			}
			got := ""
			for _, v := range start.Env("f.1") {
				if text, ok := strings.CutPrefix(v, WorkVariable+"="); ok {
					got = text
				}
			}
			read, err := ReadStarted(got)
			if err != nil {
				t.Fatal(err)
			}
			want := c.Fleets[0].Workers
			want.DeadLetter = config.QueueRef{} // told by its URL
			if diff := cmp.Diff(want, read.Workers); diff != "" {
				t.Errorf("what is read (-configured +read):\n%s", diff)
			}
			if got = strings.NewReplacer(embedded, "QUEUE/", data, "DATA").Replace(got); got != row.want {
				t.Errorf("found\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}

// A worker without a queue is the command itself, with the values of its variables.
func TestACommandThatIsTheWorkerGetsItsVariables(t *testing.T) {
	a := &App{config: &config.Config{Data: t.TempDir()}}
	f := config.Fleet{Name: "f", Workers: config.Workers{Command: []string{"x", "-y"}, Env: []string{"A=1", "B"}}}
	start, err := local{a}.Start(f, f.Parts()[0])
	if err != nil || !slices.Equal(start.Argv, f.Workers.Command) {
		t.Errorf("found %q, %v; want the command", start.Argv, err)
	}
}

// TestWhatIsToldIsRead holds that no text of a configuration is lost or becomes another on its way to a worker.
func TestWhatIsToldIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~äß\t]{0,12}(\$\{HOME\}|\$\$|\n|😀)?`)
		want := Started{
			Queues: rapid.SliceOfN(text, 1, 3).Draw(t, "queues"), Data: text.Draw(t, "data"),
			Workers: config.Workers{
				Command: rapid.SliceOfN(text, 1, 4).Draw(t, "command"), Slots: rapid.IntRange(1, 9).Draw(t, "slots"),
				Env: rapid.SliceOfN(text, 1, 3).Draw(t, "env"), JSONLines: rapid.Bool().Draw(t, "lines"),
			},
		}
		written, err := want.Text()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadStarted(written)
		if err != nil {
			t.Fatalf("%v, in %s", err, written)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s\nas %s", diff, written)
		}
	})
}
