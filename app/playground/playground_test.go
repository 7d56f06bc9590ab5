package playground_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-scale/muster/app/playground"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/sim/variants"
)

const text = `version: 1
fleets:
  - name: jobs
    queue: jobs
    objective: {latency: 1m, quantile: 0.95}
    max: 9 # of the quota
    price: 0.5
    workers: {command: [./work], boot: 10s}
`

// answer asks, and returns the reply with its bytes.
func answer(t *testing.T, r playground.Request, content string) (playground.Reply, []byte) {
	t.Helper()
	request, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	bytes := playground.Answer(request, []byte(content), nil)
	var reply playground.Reply
	if err := json.Unmarshal(bytes, &reply); err != nil {
		t.Fatalf("%v in %s", err, bytes)
	}
	return reply, bytes
}

func TestAFileIsSimulatedUnderBothConfigurations(t *testing.T) {
	csv := "arrival_s,service_s\n" + strings.Repeat("0,5\n", 40) + "600,5\n"
	r := playground.Request{File: "jobs.csv", Configuration: text, Set: []string{"max=2"}, Others: []string{"keda"},
		Bound: true}
	reply, first := answer(t, r, csv)
	f := reply.Found
	if f == nil || f.Messages != 41 || len(f.Runs) != 3 || f.Runs[0].Kind != variants.Present ||
		f.Runs[1].Kind != variants.Changed || f.Runs[2].Name != "keda" {
		t.Fatalf("found %s", first)
	}
	if present, changed := f.Runs[0], f.Runs[1]; *present.InTime < 0.95 || *changed.InTime > 0.7 ||
		*changed.PeakWorkers != 2 || f.Bound == nil || f.Bound.WorkerHours > *present.WorkerHours ||
		*present.Cost != *present.WorkerHours/2 {
		t.Errorf("the present is %+v, two workers %+v, the bound %+v", present, changed, f.Bound)
	}
	if !strings.Contains(f.YAML, "max: 2 # of the quota") {
		t.Errorf("the part to copy is\n%s", f.YAML)
	}
	r.Bound = false // it takes seconds
	again, _ := answer(t, r, csv)
	again.Found.Bound = f.Bound
	if second, err := json.Marshal(again); err != nil || !bytes.Equal(first, second) {
		t.Errorf("the same request has another answer: %v", err)
	}
	r.BoundOnly = true
	if alone, text := answer(t, r, csv); alone.Found == nil || len(alone.Found.Runs) != 0 ||
		*alone.Found.Bound.Cost != *f.Bound.Cost {
		t.Errorf("the bound alone is %s", text)
	}
}

// What the page shows as a configuration must be one for muster, too.
func TestBuiltInTracesHaveConfigurationsThatMusterAccepts(t *testing.T) {
	reply, _ := answer(t, playground.Request{List: true}, "")
	if len(reply.Traces) < 5 {
		t.Fatalf("found %d traces", len(reply.Traces))
	}
	for _, one := range reply.Traces {
		if _, err := kinds.Parse("muster.yaml", []byte(one.Configuration)); err != nil {
			t.Errorf("%s: %v", one.Name, err)
		}
		r := playground.Request{Trace: one.Name, Configuration: one.Configuration, Set: []string{"max=-1"}}
		if reply, _ := answer(t, r, ""); !strings.Contains(reply.Error, "max") {
			t.Errorf("%s: found the error %q, want one about the changed maximum", one.Name, reply.Error)
		}
	}
}

func TestEverySizeIsBoundedAndFaultsAreWords(t *testing.T) {
	for name, row := range map[string]struct {
		r       playground.Request
		content string
		says    string
	}{
		"messages": {playground.Request{Trace: "steady:rate=150,duration=1h"}, "", "more than 500000 messages"},
		"span":     {playground.Request{Trace: "steady:rate=0.001,duration=2000h"}, "", "later than 1440h"},
		"bytes": {playground.Request{File: "a.csv"}, strings.Repeat("x", playground.MaxContent+1),
			"67108865 bytes"},
		"a typo":    {playground.Request{Trace: "spike-300"}, "", "spike"},
		"order":     {playground.Request{File: "a.csv"}, "arrival_s,service_s\n5,1\n4,1\n", "a.csv:3"},
		"empty":     {playground.Request{File: "a.csv"}, "", "a.csv"},
		"counts":    {playground.Request{File: "a.csv"}, "start_s,count\n0,5\n60,5\n", "service"},
		"duration":  {playground.Request{File: "a.csv", Service: "5"}, "start_s,count\n0,5\n60,5\n", "such as 10s"},
		"others":    {playground.Request{Trace: "burst-25s", Others: make([]string, 5)}, "", "at most 4"},
		"no policy": {playground.Request{Trace: "burst-25s", Policy: "exat"}, "", "exact"},
		"an address": {playground.Request{Trace: "burst-25s", Set: []string{
			"queue=https://sqs.eu-west-1.amazonaws.com/000000000000/jobs"}}, "", "the playground reaches no service"},
		"two fleets": {playground.Request{Trace: "burst-25s", Configuration: text + strings.ReplaceAll(
			text[strings.Index(text, "  - name"):], "jobs", "other")}, "", "2 fleets"},
		"a variable": {playground.Request{Trace: "burst-25s", Set: []string{"max=${MOST}"}}, "", "MOST"},
	} {
		if row.r.Configuration == "" {
			row.r.Configuration = text
		}
		if reply, _ := answer(t, row.r, row.content); !strings.Contains(reply.Error, row.says) {
			t.Errorf("%s: found the error %q, want %q in it", name, reply.Error, row.says)
		}
	}
	for _, request := range []string{"", "{", `{"colour":"red"}`, strings.Repeat(" ", playground.MaxRequest+1)} {
		var reply playground.Reply
		err := json.Unmarshal(playground.Answer([]byte(request), nil, nil), &reply)
		if err != nil || reply.Error == "" {
			t.Errorf("found %+v and %v for a request of %d bytes", reply, err, len(request))
		}
	}
}

func TestProgressRisesToTheEnd(t *testing.T) {
	var shares []float64
	request, _ := json.Marshal(playground.Request{Trace: "spike:duration=1h", Configuration: text,
		Others: []string{"keda"}})
	playground.Answer(request, nil, func(share float64) { shares = append(shares, share) })
	last := 0.0
	for _, share := range shares {
		if share < last || share > 1 {
			t.Errorf("found the shares %v", shares)
		}
		last = share
	}
	if last != 1 {
		t.Errorf("the last share is %v of %v", last, shares)
	}
}

// A browser downloads all that is linked. SQLite alone would be as large as the whole simulator.
func TestTheBrowserProgramLinksNoStoreAndNoClient(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/muster-scale/muster/cmd/playground")
	list.Env = append(list.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	found, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	if wrong := regexp.MustCompile(`(?m)^.*(sqlite|aws-sdk|prometheus|net/http$|crypto/tls$|text/template$|os/exec$).*$`).
		FindAllString(string(found), -1); wrong != nil {
		t.Errorf("cmd/playground imports %v; go list -deps says through which package", wrong)
	}
}
