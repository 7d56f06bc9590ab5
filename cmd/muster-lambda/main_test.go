package main_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/mustertest/fakeaws"
	"github.com/muster-scale/muster/queue"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sqsapi"
)

// The goals of the program in Lambda.
const (
	maxInit   = 100 * time.Millisecond
	maxMemory = 128 << 20
	maxZip    = 15 << 20
)

// runtimeAPI stands in for the runtime API of Lambda, over HTTP on loopback.
type runtimeAPI struct {
	server *httptest.Server
	// polled receives when the program asks for an invocation.
	polled  chan struct{}
	events  chan event
	answers chan answer
	n       int
}

// event is an invocation for the program.
type event struct {
	id, payload string
	within      time.Duration
}

// answer is what the program posted: what is response, error or init/error.
type answer struct {
	what, id, body, kind string
}

const api = "/2018-06-01/runtime/"

func newRuntime(t *testing.T) *runtimeAPI {
	r := &runtimeAPI{polled: make(chan struct{}, 100), events: make(chan event), answers: make(chan answer, 100)}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

// ServeHTTP implements [http.Handler].
func (r *runtimeAPI) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	path, ok := strings.CutPrefix(q.URL.Path, api)
	switch {
	case ok && q.Method == http.MethodGet && path == "invocation/next":
		r.polled <- struct{}{}
		select {
		case e := <-r.events:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", e.id)
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(e.within).UnixMilli()))
			w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:111122223333:function:m")
			_, _ = io.WriteString(w, e.payload)
		case <-q.Context().Done():
		}
	case ok && q.Method == http.MethodPost:
		body, _ := io.ReadAll(q.Body)
		a := answer{what: path, body: string(body), kind: q.Header.Get("Lambda-Runtime-Function-Error-Type")}
		if rest, found := strings.CutPrefix(path, "invocation/"); found {
			a.id, a.what, _ = strings.Cut(rest, "/")
		}
		r.answers <- a
		w.WriteHeader(http.StatusAccepted)
	default:
		http.NotFound(w, q)
	}
}

// invoke gives the program an invocation, and returns what it posted.
func (r *runtimeAPI) invoke(t *testing.T, payload string, within time.Duration) answer {
	t.Helper()
	r.n++
	id := fmt.Sprint("request-", r.n)
	select {
	case r.events <- event{id, payload, within}:
	case <-time.After(20 * time.Second):
		t.Fatal("the program asked for no invocation within 20 s")
	}
	select {
	case a := <-r.answers:
		if a.id != id {
			t.Errorf("answered the request %s, want %s", a.id, id)
		}
		return a
	case <-time.After(20 * time.Second):
		t.Fatal("the program answered nothing within 20 s")
	}
	return answer{}
}

// process is a running program.
type process struct {
	*exec.Cmd
	stderr bytes.Buffer
	began  time.Time
}

// start starts the program with a function, as Lambda does.
func (r *runtimeAPI) start(t *testing.T, program string, env ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(program), began: time.Now()}
	p.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(r.server.URL, "http://"),
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION=us-east-1", "LAMBDA_TASK_ROOT=/nowhere"},
		env...)
	p.Stderr, p.Stdout = &p.stderr, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

// build builds the program for this platform, as a release does.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bootstrap")
	command := exec.Command("go", "build", "-tags", "lambda.norpc", "-ldflags=-s -w", "-o", path, ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return path
}

const workURL = "https://sqs.us-east-1.amazonaws.com/000000000000/work"

func TestTheProgramSpeaksTheRuntimeAPI(t *testing.T) {
	program := build(t)
	endpoint, count := world(t)
	r := newRuntime(t)
	p := r.start(t, program, "MUSTER_FUNCTION=send", "MUSTER_QUEUE="+workURL, "AWS_ENDPOINT_URL="+endpoint)
	if a := r.invoke(t, `{"count": 25, "duration": "2s"}`, 10*time.Second); a.what != "response" ||
		a.body != `{"queue":"`+workURL+`","sent":25}` || count() != 25 {
		t.Errorf("found %+v and %d messages, want 25\n%s", a, count(), &p.stderr)
	}
	// A failed invocation is reported, and the next one is answered by the same process.
	for payload, want := range map[string]string{
		`{"count": "many"}`:             "decode the payload",
		`{"count": -1}`:                 "found count -1",
		`not JSON`:                      "decode the payload",
		strings.Repeat(" ", 1<<20+1):    "found a payload of 1048577 bytes, allowed are 1048576",
		`{"queue": "work"}`:             "set MUSTER_QUEUE to the URL",
		`{"queue": "` + workURL + `X"}`: "send test messages",
	} {
		a := r.invoke(t, payload, 10*time.Second)
		var failure struct{ ErrorMessage string }
		if err := json.Unmarshal([]byte(a.body), &failure); err != nil || a.what != "error" ||
			!strings.Contains(failure.ErrorMessage, want) {
			t.Errorf("%.40q: found %.300v, want an error with %q", payload, a, want)
		}
	}
	if a := r.invoke(t, `{}`, 10*time.Second); a.what != "response" || count() != 26 {
		t.Errorf("found %+v and %d messages after the failures, want one more", a, count())
	}
}

func TestAnAnswerComesBeforeTheDeadline(t *testing.T) {
	program := build(t)
	over := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer silent.Close()
	defer close(over)
	r := newRuntime(t)
	r.start(t, program, "MUSTER_FUNCTION=send", "MUSTER_QUEUE="+workURL, "AWS_ENDPOINT_URL="+silent.URL)
	<-r.polled
	began := time.Now()
	a := r.invoke(t, `{}`, 2*time.Second)
	if took := time.Since(began); a.what != "error" || took > 2*time.Second {
		t.Errorf("found %+v after %s, want an error within 2 s", a, took)
	}
}

const reporting = `{version: 1, fleets: [{name: work, queue: "` + workURL + `", objective: {latency: 300s}, max: 20,
  asg: {group: workers, reports: none}, reports_from: "dynamodb:reports"}]}`

// Auto Scaling waits two seconds for its custom termination policy, a cold start and a silent table included.
func TestTheTerminationPolicyAnswersInTime(t *testing.T) {
	program := build(t)
	over := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer silent.Close()
	defer close(over)
	r := newRuntime(t)
	p := r.start(t, program, "MUSTER_FUNCTION=terminate", "MUSTER_CONFIG="+reporting, "AWS_ENDPOINT_URL="+silent.URL)
	a := r.invoke(t, `{"AutoScalingGroupName": "workers", "Instances": [{"InstanceId": "i-1"}]}`, 2*time.Second)
	if took := time.Since(p.began); a.what != "response" || a.body != `{"InstanceIDs":[]}` || took > 2*time.Second {
		t.Errorf("found %+v after %s, want an empty list within 2 s\n%s", a, took, &p.stderr)
	}
}

func TestAProgramThatCannotStartReportsIt(t *testing.T) {
	program := build(t)
	r := newRuntime(t)
	p := r.start(t, program, "MUSTER_FUNCTION=scale")
	err := p.Wait()
	a := <-r.answers
	if code := p.ProcessState.ExitCode(); code != 1 || a.what != "init/error" || a.kind != "Muster.Configuration" ||
		!strings.Contains(a.body, `found MUSTER_FUNCTION=\"scale\", allowed are`) {
		t.Errorf("found %+v, exit code %d (%v), want init/error and 1", a, code, err)
	}
	outside := exec.Command(program)
	outside.Env = []string{"MUSTER_FUNCTION=send"}
	out, err := outside.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "runs in AWS Lambda only") {
		t.Errorf("outside of Lambda: %v\n%s", err, out)
	}
}

const publishing = `{version: 1, fleets: [{name: work, queue: "` + workURL + `", objective: {latency: 300s}, max: 20,
  policy: {name: dynamic-backlog, acceptable: 12}, asg: {group: workers, reports: none}, delegate: {}}]}`

// world serves a world with the group workers and the queue work, and returns its URL and the length of the queue.
func world(t *testing.T) (url string, count func() int) {
	t.Helper()
	endpoint, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := endpoint.CreateQueue(t.Context(), "work", nil, nil); err != nil {
		t.Fatal(err)
	}
	zero, twenty := 0, 20
	w := model.New(model.Settings{Start: time.Now(), Region: "us-east-1", Seed: 1})
	if _, err := w.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
		AutoScalingGroupName: "workers", MinSize: &zero, MaxSize: &twenty, DesiredCapacity: &zero,
		AvailabilityZones: []string{"us-east-1a"}, LaunchTemplate: &groupapi.LaunchTemplate{LaunchTemplateName: "w"},
	}}); err != nil {
		t.Fatal(err)
	}
	server := fakeaws.New(w)
	server.Follow(time.Now)
	server.Messages(sqsapi.New(sqsapi.Options{Queues: endpoint, AnyCredentials: true}))
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.Close(); server.Close(); _ = endpoint.Close() })
	return web.URL, func() int {
		c, err := endpoint.Counts("work")
		if err != nil {
			t.Fatal(err)
		}
		return c.Visible
	}
}

// TestTheProgramIsSmallAndStartsAtOnce measures what Lambda bills and what a cold start waits for. The shortest of
// several starts counts, because other programs run on this machine.
func TestTheProgramIsSmallAndStartsAtOnce(t *testing.T) {
	program := build(t)
	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	in, err := z.Create("bootstrap")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	endpoint, _ := world(t)
	least, most := time.Hour, int64(0)
	for range 10 {
		r := newRuntime(t)
		p := r.start(t, program, "MUSTER_FUNCTION=publish-metric", "MUSTER_CONFIG="+publishing,
			"AWS_ENDPOINT_URL="+endpoint)
		<-r.polled
		least = min(least, time.Since(p.began))
		for range 5 {
			if a := r.invoke(t, `{}`, 30*time.Second); a.what != "response" {
				t.Fatalf("found %+v\n%s", a, &p.stderr)
			}
		}
		// The usage that Wait returns is at least that of this test, which started the process.
		if runtime.GOOS == "linux" {
			most = max(most, peakMemory(t, p.Process.Pid))
		}
		_ = p.Process.Kill()
		_ = p.Wait()
	}
	t.Logf("init %s, %.1f MiB of memory, zipped %.1f MiB", least, float64(most)/(1<<20), float64(zipped.Len())/(1<<20))
	if least > maxInit || most > maxMemory || zipped.Len() > maxZip {
		t.Errorf("init %s, %d bytes of memory, zipped %d bytes; allowed are %s, %d and %d", least, most, zipped.Len(),
			maxInit, maxMemory, maxZip)
	}
}

// peakMemory returns the most memory that a running process has had, in bytes.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var kib int64
	_, after, _ := strings.Cut(string(text), "\nVmHWM:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatalf("find the peak memory in %s: %v", text, err)
	}
	return kib << 10
}

// TestTheProgramHasNoStorage holds that the program is linked with nothing that only muster up needs.
func TestTheProgramHasNoStorage(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "lambda.norpc", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{"modernc.org/sqlite", "github.com/valyala/fasthttp", "github.com/hashicorp/hcl/v2",
		"github.com/spf13/cobra", "net/rpc", "github.com/muster-scale/muster/server"} {
		if strings.Contains("\n"+string(out), "\n"+no+"\n") {
			t.Errorf("the program is linked with %s; want it without", no)
		}
	}
}
