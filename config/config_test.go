package config_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

// all are the kinds that the golden files know: one that is added is tested in its own folder.
var all = known(kinds.Table().Config())

func known(k config.Kinds) config.Kinds {
	names := []string{"", "asg", "ecs", "metrics", "delegate"}
	k.Members = slices.DeleteFunc(k.Members, func(m config.MembersKind) bool { return !slices.Contains(names, m.Key) })
	k.Signals = slices.DeleteFunc(k.Signals, func(s config.SignalKind) bool { return !slices.Contains(names, s.Key) })
	k.Sizers = slices.DeleteFunc(k.Sizers, func(s config.SizerKind) bool { return !slices.Contains(names, s.Key) })
	return k
}

// lookup is the environment of the tests.
func lookup(name string) (string, bool) {
	v, ok := map[string]string{"HOME": "/home/me", "EMPTY": "", "TRICKY": "${HOME} $$"}[name]
	return v, ok
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("muster.yaml", []byte(text), lookup, all)
	if err != nil {
		t.Fatalf("found faults:\n%v", err)
	}
	return c
}

func diff(want, got any) string {
	return cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{}))
}

// TestEveryFaultIsReportedAtItsPlace compares the faults of each configuration in testdata/faults with a golden file.
func TestEveryFaultIsReportedAtItsPlace(t *testing.T) {
	files, err := filepath.Glob("testdata/faults/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d configurations, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = config.Parse(name, text, lookup, all)
			faults, ok := errors.AsType[config.Faults](err)
			if !ok || len(faults) == 0 {
				t.Fatalf("found error %v, want faults", err)
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".golden", faults.Error()+"\n")
		})
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("found other faults than %s has (-want +got), run the test with -update to accept them:\n%s", file,
			diff)
	}
}

func TestFaultsAreOneJSONObjectEach(t *testing.T) {
	_, err := config.Parse("m.yaml", []byte("version: 1\nfleets: [{name: a, queue: a, max: 1, polcy: exact, workers: "+
		"{command: x}}]\n"), lookup, all)
	got, errJSON := json.Marshal(err)
	want := `[{"kind":"fault","file":"m.yaml","line":2,"column":38,"path":"fleets[0]","message":"found the unknown key \"polcy\", allowed are name, queue, queues, split, objective, min, max, launches_per_hour, poll, policy, headroom, price, budget, scale_out, scale_in, shadow, workers, metrics, asg, ecs, reports_from, delegate","hint":"did you mean \"policy\"?","source":"fleets: [{name: a, queue: a, max: 1, polcy: exact, workers: {command: x}}]"}]`
	if errJSON != nil || string(got) != want {
		t.Errorf("found %s (%v), want %s", got, errJSON, want)
	}
	if faults, _ := errors.AsType[config.Faults](err); strings.Contains(faults[0].String(), "\n") ||
		!strings.HasPrefix(faults[0].String(), "m.yaml:2:38: found the unknown key") {
		t.Errorf("on one line: %q", faults[0].String())
	}
}

func TestTheSmallestConfigurationGetsTheDefaults(t *testing.T) {
	got := parse(t, "version: 1\nqueues: [{name: q}]\nfleets: [{name: f, queue: q, max: 3, workers: {command: "+
		"./work.sh}}]")
	want := &config.Config{
		Data:   ".muster",
		Listen: config.Listen{Queue: "127.0.0.1:9324", API: "127.0.0.1:9325"},
		AWS:    config.AWS{CallsPerSecond: 50, Burst: 100, QueueMetrics: true},
		Queues: []config.Queue{{Name: "q", Visibility: 30 * time.Second, Retention: 96 * time.Hour}},
		Fleets: []config.Fleet{{
			Name: "f", Queues: []config.QueueRef{{Name: "q"}},
			Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
			Limits:    muster.Limits{Max: 3, LaunchesPerHour: 60},
			Poll:      time.Second,
			Policy:    policy.Spec{Name: "deadline", Prompt: true},
			Workers: config.Workers{Command: []string{"./work.sh"}, Slots: 1, Batch: 1, Boot: time.Second,
				Visibility: 30 * time.Second},
		}},
	}
	if diff := diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThePriceOfALateMessageIsZeroToTwoWeeks(t *testing.T) {
	for stated, want := range map[string]time.Duration{
		"{}": 0, "{latency: 1m}": 0, "{late: 0}": 0, "{late: 0s}": 0, "{late: 1ns}": 1,
		"{late: 336h}": 14 * 24 * time.Hour,
	} {
		text := "version: 1\nfleets: [{name: f, queue: q, max: 3, objective: " + stated + ", workers: {command: x}}]"
		if got := parse(t, text).Fleets[0].Objective.Late; got != want {
			t.Errorf("%s: found %s, want %s", stated, got, want)
		}
	}
}

func TestHowAFleetFallsDependsOnItsPolicy(t *testing.T) {
	for _, row := range []struct {
		name, policy string
		idle, lasts  time.Duration
	}{
		{"the default asks workers to go itself, at once", "", 0, 0},
		{"deadline, with its dial", "policy: {name: deadline, scale: 0.5}", 0, 0},
		{"exact falls when idle workers leave", "policy: exact", 30 * time.Second, 0},
		{"one that follows a number waits for the number to last", "policy: dynamic-backlog", 0, 5 * time.Minute},
		{"the calendar", "policy: {name: schedule, intervals: [{from: '08:00', to: '09:00', workers: 1}]}", 0, 0},
		{"several, exact among them", "policy: {name: largest, largest: [deadline, exact]}", 30 * time.Second,
			5 * time.Minute},
		{"what is stated stays", "policy: deadline, scale_in: {stabilization: 1s}", 0, time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := parse(t, "version: 1\nfleets: [{name: f, queue: q, max: 3, workers: {command: x}, "+row.policy+
				"}]").Fleets[0]
			if f.Workers.Idle != row.idle || f.Policy.In.Stabilization != row.lasts {
				t.Errorf("found an idle stop of %s and a stabilization of %s, want %s and %s", f.Workers.Idle,
					f.Policy.In.Stabilization, row.idle, row.lasts)
			}
		})
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	got := parse(t, `
version: 1
data: /var/lib/muster
listen: {queue: "localhost:0", api: "[::1]:0", beyond: {queue: "0.0.0.0:1", api: ":2", cert: c, key: k, hosts: [h]}}
queues: [{name: q, visibility: 0, delay: 1m, retention: 1h, dead_letter: {queue: dead, after: 7}}]
fleets:
  - name: f
    queue: https://sqs.eu-west-1.amazonaws.com/1/work.fifo
    objective: {latency: 5m, quantile: 1, late: 90s}
    min: 2
    max: 100
    launches_per_hour: 7
    poll: 30s
    policy: {name: backlog-per-worker, acceptable: 12.5, processing: 100ms}
    headroom: 12.5%
    scale_out: {stabilization: 1s, max_workers: 2, max_percent: 50, period: 1m}
    scale_in: {stabilization: 2s}
    workers: {command: [sleep, 1, "$$x", "${HOME:-y}", true], slots: 3, boot: 4s, idle: 5s, visibility: 6s, grace: 7s, env: [A, B_1, "C=a=${HOME:-y}"], log: debug, retry: 10s, start_limit: 11s, warm_up: 8s, json_lines: true, time_limit: 9s, batch: 4, max_attempts: 5, dead_letter: "https://sqs.eu-west-1.amazonaws.com/1/dead.fifo", class_attribute: job.kind}
  - name: none
    max: 0
    policy: {name: worker-utilization, target: 0.5, signal: reports}
    headroom: 4
    workers: {command: x, idle: 0}
  - name: local
    queue: http://127.0.0.1:9324/000000000000/other
    max: 1
    policy: {name: largest, largest: [dynamic-backlog, {name: worker-utilization, signal: in-flight}]}
    workers: {command: x}
  - name: steps
    queues: [a, b]
    max: 1
    policy: {name: step, metric: oldest-age, cooldown: 2m, steps: [{from: 0, to: 5.5, add: -1}, {from: 60, percent: 50}, {from: 7, to: 8, set: 0}]}
    workers: {command: x}
  - name: parts
    queue: parts
    max: 9
    policy: worker-utilization
    workers: {command: x, slots: 2, env: [A]}
    split:
      - {name: reserved, base: 2}
      - {name: spot, weight: 3, max: 5, workers: {slots: 4, env: [B], command: [y, z], idle: 1m}}
  - name: dial
    queue: dial
    max: 9
    policy: {name: deadline, scale: 0.5, processing: 3s}
    price: 0.096
    budget: 1.5
    workers: {command: x}
  - name: clock
    max: 1
    policy: {name: schedule, intervals: [{days: [mon, sun], from: "08:00", to: "24:00", zone: UTC, workers: 3}]}
    workers: {command: x}
`)
	f := got.Fleets
	fiveMinutes := policy.Shape{Stabilization: 5 * time.Minute}
	want := &config.Config{
		Data: "/var/lib/muster",
		Listen: config.Listen{Queue: "localhost:0", API: "[::1]:0",
			Beyond: config.Beyond{Queue: "0.0.0.0:1", API: ":2", Cert: "c", Key: "k", Hosts: []string{"h"}}},
		AWS: config.AWS{CallsPerSecond: 50, Burst: 100, QueueMetrics: true},
		Queues: []config.Queue{{Name: "q", Delay: time.Minute, Retention: time.Hour,
			DeadLetter: config.DeadLetter{Queue: "dead", After: 7}}},
		Fleets: []config.Fleet{
			{
				Name: "f", Queues: []config.QueueRef{{Name: "work.fifo",
					URL: "https://sqs.eu-west-1.amazonaws.com/1/work.fifo", Region: "eu-west-1", Remote: true}},
				Objective: muster.Objective{Latency: 5 * time.Minute, Quantile: 1, Late: 90 * time.Second},
				Limits:    muster.Limits{Min: 2, Max: 100, LaunchesPerHour: 7}, Poll: 30 * time.Second,
				Policy: policy.Spec{Name: "backlog-per-worker", Acceptable: 12.5, Processing: 100 * time.Millisecond,
					HeadroomPercent: 12.5,
					Out: policy.Shape{Stabilization: time.Second, MaxWorkers: 2, MaxPercent: 50,
						Period: time.Minute},
					In: policy.Shape{Stabilization: 2 * time.Second}},
				Workers: config.Workers{Command: []string{"sleep", "1", "$x", "/home/me", "true"}, Slots: 3,
					Boot: 4 * time.Second,
					Idle: 5 * time.Second, Visibility: 6 * time.Second, Grace: 7 * time.Second,
					Env: []string{"A", "B_1", "C=a=/home/me"}, Log: "debug", Retry: 10 * time.Second,
					StartLimit: 11 * time.Second, WarmUp: 8 * time.Second, JSONLines: true, TimeLimit: 9 * time.Second,
					Batch: 4, MaxAttempts: 5,
					DeadLetter: config.QueueRef{Name: "dead.fifo",
						URL: "https://sqs.eu-west-1.amazonaws.com/1/dead.fifo", Region: "eu-west-1", Remote: true},
					ClassAttribute: "job.kind"},
			},
			{
				Name: "none", Objective: f[1].Objective, Limits: muster.Limits{LaunchesPerHour: 60}, Poll: time.Second,
				Policy: policy.Spec{Name: "worker-utilization", Target: 0.5, Signal: "reports", HeadroomWorkers: 4,
					In: fiveMinutes},
				Workers: config.Workers{Command: []string{"x"}, Slots: 1, Batch: 1, Boot: time.Second,
					Visibility: 30 * time.Second},
			},
			{
				Name: "local", Queues: []config.QueueRef{{Name: "other",
					URL: "http://127.0.0.1:9324/000000000000/other"}}, Objective: f[1].Objective,
				Limits: muster.Limits{Max: 1, LaunchesPerHour: 60}, Poll: time.Second,
				Policy: policy.Spec{Name: "largest", Largest: []policy.Spec{{Name: "dynamic-backlog"},
					{Name: "worker-utilization", Signal: "in-flight"}}, In: fiveMinutes},
				Workers: f[1].Workers,
			},
			{
				Name: "steps", Queues: []config.QueueRef{{Name: "a"}, {Name: "b"}}, Objective: f[1].Objective,
				Limits: f[2].Limits, Poll: time.Second,
				Policy: policy.Spec{Name: "step", Metric: "oldest-age", Cooldown: 2 * time.Minute, In: fiveMinutes,
					Steps: []policy.StepChange{{To: 5.5, Add: -1}, {From: 60, Percent: 50},
						{From: 7, To: 8, Set: new(int)}}},
				Workers: f[1].Workers,
			},
			{
				Name: "parts", Queues: []config.QueueRef{{Name: "parts"}}, Objective: f[1].Objective,
				Limits: muster.Limits{Max: 9, LaunchesPerHour: 90},
				Poll:   time.Second, Policy: policy.Spec{Name: "worker-utilization", In: fiveMinutes},
				Workers: config.Workers{Command: []string{"x"}, Slots: 2, Batch: 1, Boot: time.Second,
					Visibility: 30 * time.Second, Env: []string{"A"}},
				Split: []config.Part{
					{Name: "reserved", Base: 2, Workers: f[4].Workers},
					{Name: "spot", Weight: 3, Max: 5, Workers: config.Workers{Command: []string{"y", "z"}, Slots: 4,
						Batch: 1, Boot: time.Second,
						Idle: time.Minute, Visibility: 30 * time.Second, Env: []string{"B"}}},
				},
			},
			{
				Name: "dial", Queues: []config.QueueRef{{Name: "dial"}}, Objective: f[1].Objective, Limits: f[4].Limits,
				Poll: time.Second,
				Policy: policy.Spec{Name: "deadline", Scale: 0.5, Processing: 3 * time.Second, PricePerHour: 0.096,
					BudgetPerHour: 1.5},
				Workers: f[1].Workers,
			},
			{
				Name: "clock", Objective: f[1].Objective, Limits: f[2].Limits, Poll: time.Second,
				Policy: policy.Spec{Name: "schedule",
					Intervals: []policy.Interval{{Days: []string{"mon", "sun"}, From: "08:00", To: "24:00", Zone: "UTC",
						Workers: 3}}},
				Workers: f[1].Workers,
			},
		},
	}
	if diff := diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheExampleCanBeParsed(t *testing.T) {
	c := parse(t, config.Example())
	if len(c.Fleets) < 2 || len(c.Queues) < 1 {
		t.Errorf("the example has %d fleets and %d queues", len(c.Fleets), len(c.Queues))
	}
}

func TestVariablesStandInTextsAlone(t *testing.T) {
	for text, want := range map[string]string{
		"data: ${HOME}/x":        "/home/me/x",
		"data: a$$b":             "a$b",
		"data: ${UNSET:-y}":      "y",
		"data: ${EMPTY:-y}":      "y",
		"data: '${TRICKY}'":      "${HOME} $$", // what a variable holds is not looked into
		"data: ${HOME}${HOME}$$": "/home/me/home/me$",
	} {
		if got := parse(t, "version: 1\n"+text).Data; got != want {
			t.Errorf("%s gives %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"data: $", "data: ${}", "data: ${A", "data: $HOME", "data: ${A-b}", "${HOME}: x",
		"max: ${EMPTY}"} {
		if _, err := config.Parse("m.yaml", []byte("version: 1\n"+text), lookup, all); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestAByteOrderMarkAndCarriageReturnsDoNoHarm(t *testing.T) {
	parse(t, "\uFEFFversion: 1\r\ndata: x\r\n")
}

func TestATextWithoutEndIsRefused(t *testing.T) {
	text := "version: 1\n" + strings.Repeat("#", config.MaxBytes)
	path := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(path, all); err == nil || !strings.Contains(err.Error(), "found more than 1048576 bytes") {
		t.Errorf("found error %.200v", err)
	}
}

func TestLoadPutsPathsBesideTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "muster.yaml")
	if err := os.WriteFile(path, []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, all)
	if err != nil {
		t.Fatal(err)
	}
	if c.Dir != dir || c.Data != filepath.Join(dir, ".muster") {
		t.Errorf("found the directory %q and the data %q, want both in %q", c.Dir, c.Data, dir)
	}
	if _, err := config.Load(filepath.Join(dir, "none.yaml"), all); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: found error %v", err)
	}
}

func TestCommandsThatDoNotExistAreFaults(t *testing.T) {
	c := parse(t, `version: 1
fleets:
  - {name: a, queue: a, max: 1, workers: {command: [found, there]}}
  - {name: b, queue: b, max: 1, workers: {command: [./gone.sh, x]}}
  - {name: c, queue: c, max: 1, workers: {command: resize --fast}}
`)
	var looked []string
	lookPath := func(file string) (string, error) {
		looked = append(looked, file)
		if file == "found" {
			return "/bin/found", nil
		}
		return "", errors.New("not here")
	}
	c.Dir = "/etc/muster"
	for range 2 { // looking changes nothing
		err := config.CheckCommands(c, lookPath)
		want := `muster.yaml:4:53: found the command "/etc/muster/gone.sh", which cannot be run (not here), allowed is a program on this machine
    4 |   - {name: b, queue: b, max: 1, workers: {command: [./gone.sh, x]}}
      |                                                     ^
muster.yaml:5:52: found the command "resize --fast", which cannot be run (not here), allowed is a program on this machine
    5 |   - {name: c, queue: c, max: 1, workers: {command: resize --fast}}
      |                                                    ^ a text is one word, the program; say [resize, --fast]`
		if err == nil || err.Error() != want {
			t.Errorf("found:\n%v\nwant:\n%s", err, want)
		}
	}
	if want := []string{"found", "/etc/muster/gone.sh", "resize --fast"}; !slices.Equal(looked[:3], want) {
		t.Errorf("looked for %q, want %q", looked[:3], want)
	}
	if err := config.CheckCommands(c, func(string) (string, error) { return "", nil }); err != nil {
		t.Errorf("with all commands there: %v", err)
	}
}

func TestATextFullOfFaultsIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"on one line":   "{" + strings.Repeat("a,", 50_000) + "}",
		"on many lines": "version: 1\nfleets:\n" + strings.Repeat(" - {a: 1}\n", 20_000),
		"in one list": "version: 1\nfleets: [{workers: {env: [" + strings.Repeat("1,", 256) + "]}}," +
			strings.Repeat("{},", 900) + "]",
	} {
		_, err := config.Parse("m.yaml", []byte(text), lookup, all)
		faults, _ := errors.AsType[config.Faults](err)
		if len(faults) == 0 || len(faults) > 1000 || len(err.Error()) > 100_000 {
			t.Errorf("%s: found %d faults in %d bytes, want 1 to 1000 in at most 100,000", name, len(faults),
				len(err.Error()))
		}
	}
}

func TestOnlyOneFaultForOneMistake(t *testing.T) {
	for text, want := range map[string]int{
		"fleets: [{name: [], queue: a, max: 1, workers: {command: x}}]":                     1,
		"fleets: [{name: a, queue: a, max: x, min: 5, workers: {command: x}}]":              1,
		"fleets: [{name: a, queue: a, max: 1, workers: x}]":                                 1,
		"fleets: [{name: a, queue: a, max: 1, policy: [], workers: {command: x}}]":          1,
		"fleets: [{name: a, queue: a, max: 1, workers: {command: ['${UNSET}']}}]":           1,
		"fleets: [x, {name: a, queue: a, max: 1, workers: {command: x}}]":                   1,
		"fleets: [{name: a, queue: a, max: 1, polcy: y, zzz: 1, workers: {command: [{}]}}]": 3,
	} {
		_, err := config.Parse("m.yaml", []byte("version: 1\n"+text), lookup, all)
		if faults, _ := errors.AsType[config.Faults](err); len(faults) != want {
			t.Errorf("%s: found %d faults, want %d:\n%v", text, len(faults), want, err)
		}
	}
}

// TestEachKeyOfTheExampleMatters removes each line with a required key from the example, and misspells every key.
func TestEachKeyOfTheExampleMatters(t *testing.T) {
	lines := strings.Split(config.Example(), "\n")
	keys := map[string]int{}
	for i, line := range lines {
		key, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), ":")
		if ok && key != "" && !strings.ContainsAny(key, "#{[ ") {
			keys[fmt.Sprintf("%s on line %d", key, i+1)] = i
		}
	}
	if len(keys) < 30 {
		t.Fatalf("found only %d keys", len(keys))
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		key, _, _ := strings.Cut(name, " ")
		broken := slices.Clone(lines)
		broken[keys[name]] = strings.Replace(broken[keys[name]], key+":", key+"x:", 1)
		_, err := config.Parse("m.yaml", []byte(strings.Join(broken, "\n")), lookup, all)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("did you mean %q?", key)) {
			t.Errorf("%s, misspelt: found error %v, want a suggestion", name, err)
		}
	}
}

// YAML of other versions takes 08:00 for a number; here it is the time that it looks like.
func TestTimesNeedNoQuotes(t *testing.T) {
	for _, row := range []struct{ from, to string }{{"08:00", "18:00"}, {"8:00", "24:00"}, {"00:00", "06:30"},
		{"10:30", "10:31"}} {
		text := "version: 1\nfleets:\n  - name: a\n    queue: a\n    max: 3\n    workers: {command: [cat]}\n    " +
			"policy:\n      name: schedule\n" +
			"      intervals: [{from: " + row.from + ", to: " + row.to + ", workers: 1}]\n"
		c, err := config.Parse("m.yaml", []byte(text), lookup, all)
		if err != nil {
			t.Errorf("from: %s, to: %s: %v", row.from, row.to, err)
			continue
		}
		if i := c.Fleets[0].Policy.Intervals[0]; i.From != row.from || i.To != row.to {
			t.Errorf("found %s to %s, want %s to %s", i.From, i.To, row.from, row.to)
		}
	}
}

// A required key that is misspelt is one fault, not a second one that says it is missing.
func TestAMisspeltKeyIsNotMissingToo(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"command", "version: 1\nfleets: [{name: a, queue: q, max: 2, workers: {comand: [./a]}}]\n",
			`unknown key "comand"`},
		{"version", "verison: 1\n", `unknown key "verison"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := config.Parse("muster.yaml", []byte(row.text), func(string) (string, bool) { return "", false },
				all)
			faults, ok := errors.AsType[config.Faults](err)
			if !ok || len(faults) != 1 || !strings.Contains(faults[0].Message, row.want) {
				t.Errorf("found %v, want one fault: %s", err, row.want)
			}
		})
	}
}
