package realcrash

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	"github.com/muster-scale/muster/mustertest/postgres"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/groups"
	"github.com/muster-scale/muster/sim/cloud/queues"
)

// This file lets real controllers take turns: on one machine with an embedded queue and local workers, and as if on
// two machines, with PostgreSQL, a modelled SQS queue and a modelled Auto Scaling group.

// follows is the longest time from the end of a leader until another controller sizes its fleets.
const follows = 5 * time.Second

// controller is one muster up.
type controller struct {
	name, dir string
	api       string
	cmd       *exec.Cmd
	mu        sync.Mutex
	output    bytes.Buffer
}

// Write implements [io.Writer].
func (c *controller) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.output.Write(b)
}

func (c *controller) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.output.String()
}

// run starts muster up with a configuration; text has the place API for the address of the API.
func run(t *testing.T, binary, dir, name, text string, env ...string) *controller {
	t.Helper()
	p := install(t, t.TempDir(), binary) // for a free port
	c := &controller{name: name, dir: dir, api: p.address}
	file := filepath.Join(dir, "muster.yaml")
	if _, err := os.Stat(file); err != nil {
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "API", c.api)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.cmd = exec.Command(binary, "up", "--hide-keys", "--any-credentials", "-f", file)
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stdout, c.cmd.Stderr = c, c
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.cmd.Process.Signal(syscall.SIGCONT)
		c.cmd.Process.Kill()
		c.cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", name, c.said())
		}
	})
	return c
}

// ready is the answer of /readyz; empty if there is none.
func (c *controller) ready() string {
	client := http.Client{Timeout: 500 * time.Millisecond}
	answer, err := client.Get("http://" + c.api + "/readyz")
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
	return string(text)
}

// await waits until is holds, and returns how long that took.
func await(t *testing.T, what string, most time.Duration, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		if <-tick.C; time.Since(began) > most {
			t.Fatalf("%s: not within %s", what, most)
		}
	}
	return time.Since(began)
}

func (c *controller) leads() bool { return strings.HasPrefix(c.ready(), "ready") }

// standby tells whether the controller knows that another one leads. Before it has read the claims, it says that none
// does.
func (c *controller) standby() bool { return strings.HasPrefix(c.ready(), "standby: other") }

// TestTheSecondControllerOfAMachineTakesOverQueueAndWorkers kills a controller in the middle of the work. The second
// one, which waited, goes on with its queue and its workers: every message is finished once, because no worker was
// ended and no lease of a message ran out.
func TestTheSecondControllerOfAMachineTakesOverQueueAndWorkers(t *testing.T) {
	slow(t)
	binary, dir := build(t), t.TempDir()
	const messages = 30
	text := `version: 1
data: data
listen: {queue: "127.0.0.1:0", api: API}
controllers: {store: file}
fleets:
  - {name: jobs, queue: jobs, max: 3, policy: exact,
     workers: {command: [sh, -c, "cat >> done.txt; echo >> done.txt; sleep 0.5"]}}
`
	p := install(t, t.TempDir(), binary)
	text = strings.Replace(text, "127.0.0.1:0", p.address, 1)
	first := run(t, binary, dir, "the first", text)
	await(t, "the first is ready", 20*time.Second, first.leads)
	second := run(t, binary, dir, "the second", text)
	second.api = first.api // one file, one address
	await(t, "the second waits", 10*time.Second, func() bool { return strings.Contains(second.said(), "standby") })
	send := exec.Command(binary, "send", "-f", filepath.Join(dir, "muster.yaml"), "--queue", "jobs", "--count",
		fmt.Sprint(messages), "--body", "x")
	if out, err := send.CombinedOutput(); err != nil {
		t.Fatalf("send: %v\n%s", err, out)
	}
	done := func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "done.txt"))
		return strings.Count(string(text), "x")
	}
	await(t, "three messages are finished", 20*time.Second, func() bool { return done() >= 3 })
	first.cmd.Process.Kill()
	first.cmd.Wait()
	took := await(t, "the second leads", follows, second.leads)
	t.Logf("the second leads after %s", took)
	if !strings.Contains(second.said(), "adopted a worker that was still running") {
		t.Error("the second has not adopted the workers")
	}
	await(t, "all is finished", 30*time.Second, func() bool { return done() >= messages })
	second.cmd.Process.Signal(syscall.SIGINT)
	if err := second.cmd.Wait(); err != nil {
		t.Errorf("the second ended with %v", err)
	}
	if done() != messages {
		t.Errorf("%d messages were finished %d times", messages, done())
	}
}

// cloud is the modelled AWS of the tests, with a queue and a group.
type cloud struct {
	server *fakeaws.Server
	url    string
	group  *autoscaling.Client
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	mustertest.AWSEnvironment(t)
	server := fakeaws.New(model.New(model.Settings{Start: time.Now(), Region: "eu-west-1", Seed: 1,
		Machines: groups.Machines{Boot: time.Minute}}))
	server.Follow(time.Now)
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	t.Cleanup(server.Close)
	keys := credentials.NewStaticCredentialsProvider("test", "test", "")
	c := &cloud{server: server, url: web.URL,
		group: autoscaling.New(autoscaling.Options{BaseEndpoint: &web.URL, Region: "eu-west-1", Credentials: keys})}
	_, err := c.group.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("web"), MinSize: aws.Int32(0), MaxSize: aws.Int32(10),
		DesiredCapacity: aws.Int32(0), AvailabilityZones: []string{"eu-west-1a"},
		LaunchConfigurationName: aws.String("worker")})
	if err != nil {
		t.Fatal(err)
	}
	server.Do(func(w *model.World) { _, err = w.SQS().CreateQueue(queues.CreateQueueInput{QueueName: "work"}) })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// desired is the size that the group was set to.
func (c *cloud) desired(t *testing.T) int {
	t.Helper()
	out, err := c.group.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
	if err != nil || len(out.AutoScalingGroups) != 1 {
		t.Fatalf("read the group: %v, %v", out, err)
	}
	return int(*out.AutoScalingGroups[0].DesiredCapacity)
}

// backlog lets this many messages wait in the queue.
func (c *cloud) backlog(t *testing.T, n int) {
	t.Helper()
	c.server.Do(func(w *model.World) {
		if err := w.SQS().SetQueue("work", queues.QueueCounts{Visible: n}, queues.Traffic{Sent: n}); err != nil {
			t.Error(err)
		}
	})
}

// machine starts a controller on a machine of its own.
func (c *cloud) machine(t *testing.T, binary, name, store string) *controller {
	t.Helper()
	text := fmt.Sprintf(`version: 1
listen: {queue: "127.0.0.1:0", api: API}
controllers: {store: %q, name: %s}
fleets:
  - {name: web, queue: "https://sqs.eu-west-1.amazonaws.com/000000000000/work", max: 9, poll: 1s,
     policy: {name: dynamic-backlog, processing: 25s}, asg: {group: web, reports: none}}
`, store, name)
	return run(t, binary, t.TempDir(), name, text, "AWS_ENDPOINT_URL="+c.url,
		"AWS_ENDPOINT_URL_DYNAMODB="+os.Getenv("MUSTER_DYNAMODB"))
}

// takeTurns kills a leader, pauses the next one, and lets it wake up.
func takeTurns(t *testing.T, store string, c *cloud) {
	binary := build(t)
	first := c.machine(t, binary, "first", store)
	await(t, "the first leads", 20*time.Second, first.leads)
	second := c.machine(t, binary, "second", store)
	await(t, "the second stands by", 20*time.Second, second.standby)
	for _, ask := range []string{"plan", "guard web", "resume web", "pause web --for 1m",
		"reserve web --workers 2 --for 1m"} {
		second.namesTheLeader(t, binary, ask, "fleet web is led by the controller first")
	}
	c.backlog(t, 100)
	await(t, "the group grows", 20*time.Second, func() bool { return c.desired(t) > 0 })
	before := c.desired(t)
	first.cmd.Process.Kill()
	first.cmd.Wait()
	t.Logf("after the kill, the second leads after %s", await(t, "the second leads", follows, second.leads))
	if got := c.desired(t); got != before {
		t.Errorf("the take-over changed the size from %d to %d", before, got)
	}
	third := c.machine(t, binary, "third", store)
	await(t, "the third stands by", 20*time.Second, third.standby)
	second.cmd.Process.Signal(syscall.SIGSTOP)
	t.Logf("after the stop, the third leads after %s", await(t, "the third leads", follows, third.leads))
	second.cmd.Process.Signal(syscall.SIGCONT)
	await(t, "the second, awake again, stands by", 10*time.Second, second.standby)
	if !third.leads() {
		t.Errorf("the third does not lead any more: %q", third.ready())
	}
	third.cmd.Process.Signal(syscall.SIGINT)
	t.Logf("after an orderly end, the second leads after %s", await(t, "the second leads again", follows, second.leads))
	if err := third.cmd.Wait(); err != nil {
		t.Errorf("the third ended with %v", err)
	}
	status := exec.CommandContext(t.Context(), binary, "status", "-f", filepath.Join(second.dir, "muster.yaml"))
	status.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+c.url)
	if out, err := status.CombinedOutput(); err != nil || !strings.Contains(string(out), "web") {
		t.Errorf("muster status: %v\n%s", err, out)
	}
	if got := c.desired(t); got != before {
		t.Errorf("three take-overs changed the size from %d to %d", before, got)
	}
	for _, one := range []*controller{first, second, third} {
		for _, untrue := range []string{"is new", "ends once", "has ended"} {
			if strings.Contains(one.said(), "fleet web "+untrue) {
				t.Errorf("%s said %q of a fleet that only changed its controller", one.name, untrue)
			}
		}
	}
}

// namesTheLeader runs a command for a controller that is a standby: it fails and says who can answer.
func (c *controller) namesTheLeader(t *testing.T, binary, command, want string) {
	t.Helper()
	args := append(strings.Fields(command), "-f", filepath.Join(c.dir, "muster.yaml"))
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), want) {
		t.Errorf("muster %s at a standby: found %v and %q, want an error that says %q", command, err, out, want)
	}
}

func TestAnotherMachineFollowsThroughPostgreSQL(t *testing.T) {
	slow(t)
	takeTurns(t, postgres.Start(t), newCloud(t))
}

// TestAnotherMachineFollowsThroughDynamoDB needs something that speaks DynamoDB's protocol at MUSTER_DYNAMODB.
func TestAnotherMachineFollowsThroughDynamoDB(t *testing.T) {
	slow(t)
	endpoint := os.Getenv("MUSTER_DYNAMODB")
	if endpoint == "" {
		t.Skip("MUSTER_DYNAMODB names no endpoint, such as http://127.0.0.1:8000 of DynamoDB Local")
	}
	c := newCloud(t)
	client := dynamodb.New(dynamodb.Options{Region: "eu-west-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})
	table := "turns-" + time.Now().UTC().Format("150405.000000")
	if err := dynamohistory.Create(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	takeTurns(t, "dynamodb:"+table, c)
}
