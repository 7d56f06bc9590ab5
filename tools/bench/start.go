package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/muster-scale/muster/server"
)

// Part start, and the running muster up that the parts start, idle and trees share (upProcess). Each starts one of its
// own, on free ports and in a directory of its own, and checks at the end that it is gone.

// starts is how often a start is measured.
const starts = 20

// start measures the time from a send to a fleet without workers until the command for it runs, in turns with starting
// the same command without any queue. The command copies the message to a named pipe, where this program waits for it.
// The named pipe makes the time exact: the first byte arrives when the command has read its input.
func (b *bench) start() error {
	dir := filepath.Join(b.dir, "start")
	pipe := filepath.Join(dir, "started")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return fmt.Errorf("make the pipe %s: %w", pipe, err)
	}
	// Opened for both: opening a pipe to read would wait for a writer.
	started, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer started.Close()
	// tee copies its input to the pipe as soon as it has read it.
	tee, err := exec.LookPath("tee")
	if err != nil {
		return err
	}
	u, err := b.up(dir, 1, fmt.Sprintf("    policy: exact\n    workers: {command: [%q, %q], idle: 200ms}\n", tee, pipe))
	if err != nil {
		return err
	}
	ours, theirs, err := u.starts(tee, pipe, started)
	if err = joinEnd(err, u); err != nil {
		return err
	}
	mine, peer := quantile(ours, 0.5), quantile(theirs, 0.5)
	// The goal allows for a sync of the decision and the start of the worker, besides that of the command.
	goal := peer*3/2 + 20*time.Millisecond
	b.page.goal("from a send to an empty fleet until its command runs, policy exact",
		fmt.Sprintf("<= 1.5 x fork + exec + 20 ms = %s", ms(goal)),
		fmt.Sprintf("%s (p90 %s), fork + exec %s; medians of %d", ms(mine), ms(quantile(ours, 0.9)), ms(peer), starts),
		mine <= goal,
		"the time goes into one sync of the decision, the start of the worker program, its first receive and the "+
			"start of the command, one after the other.")
	return nil
}

// starts measures both kinds of starts in turns: ours through the queue, and the same command started directly.
func (u *upProcess) starts(tee, pipe string, started io.Reader) (ours, theirs []time.Duration, err error) {
	w, err := dialWire(u.queue)
	if err != nil {
		return nil, nil, err
	}
	message := fmt.Sprintf(`{"QueueUrl":"http://%s/000000000000/%s","MessageBody":"x"}`, u.queue, queueName)
	one := make([]byte, 1)
	for i := range starts {
		begin := time.Now()
		if _, err := w.post("SendMessage", message); err != nil {
			return nil, nil, err
		}
		if _, err := io.ReadFull(started, one); err != nil {
			return nil, nil, err
		}
		ours = append(ours, time.Since(begin))
		// The next start must again begin without a worker.
		if err := u.empty(); err != nil {
			return nil, nil, err
		}
		// The pauses have different lengths, so that sends do not keep a fixed distance to the polls.
		time.Sleep(200*time.Millisecond + time.Duration(i)*17*time.Millisecond)
		command := exec.Command(tee, pipe)
		command.Stdin = strings.NewReader("x")
		// The start of the same command without Muster: what the system alone takes.
		begin = time.Now()
		if err := command.Start(); err != nil {
			return nil, nil, err
		}
		if _, err := io.ReadFull(started, one); err != nil {
			return nil, nil, err
		}
		theirs = append(theirs, time.Since(begin))
		if err := command.Wait(); err != nil {
			return nil, nil, err
		}
	}
	return ours, theirs, nil
}

// upProcess is a running muster up with one queue and one fleet. queue and api are host and port; token is for the API.
type upProcess struct {
	cmd        *exec.Cmd
	queue, api string
	token      string
}

// up starts muster up in dir with a fleet of so many workers at most that has the given settings, and waits until it is
// ready.
func (b *bench) up(dir string, most int, fleet string) (*upProcess, error) {
	program, err := filepath.Abs(b.muster)
	if err != nil {
		return nil, err
	}
	u := &upProcess{}
	// The configuration needs the ports before muster up starts.
	for _, address := range []*string{&u.queue, &u.api} {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		*address = fmt.Sprintf("127.0.0.1:%d", port)
	}
	config := filepath.Join(dir, "muster.yaml")
	text := fmt.Sprintf("version: 1\nlisten: {queue: %q, api: %q}\nfleets:\n  - name: %s\n    queue: %s\n    max: "+
		"%d\n%s", u.queue, u.api, queueName, queueName, most, fleet)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	// --any-credentials, because these clients do not sign.
	u.cmd = exec.Command(program, "up", "-f", config, "--any-credentials")
	if err := u.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w; build it before, with make build", program, err)
	}
	if err := u.ready(filepath.Join(dir, ".muster", "api-token")); err != nil {
		return nil, joinEnd(err, u)
	}
	return u, nil
}

// ready waits until muster up answers that it is ready, and reads its token.
func (u *upProcess) ready(token string) error {
	return within(10*time.Second, "muster up gets ready", func() bool {
		answer, err := http.Get("http://" + u.api + "/readyz")
		if err != nil {
			return false
		}
		answer.Body.Close()
		// muster up writes the token before it is ready.
		text, err := os.ReadFile(token)
		u.token = strings.TrimSpace(string(text))
		return err == nil && answer.StatusCode == http.StatusOK
	})
}

// empty waits until the fleet has no worker.
func (u *upProcess) empty() error {
	return within(30*time.Second, "the fleet is empty", func() bool {
		request, err := http.NewRequest(http.MethodGet, "http://"+u.api+"/v1/status", nil)
		if err != nil {
			return false
		}
		request.Header.Set("Authorization", "Bearer "+u.token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		var s server.Status
		if err := json.NewDecoder(answer.Body).Decode(&s); err != nil || len(s.Fleets) != 1 {
			return false
		}
		f := s.Fleets[0]
		// No member, none desired, none alive, and nothing in flight.
		return len(f.Members) == 0 && f.Decision.Desired == 0 && f.Observation.Capacity.Live() == 0 &&
			f.Observation.InFlight().Value == 0
	})
}

// within waits until so returns true, asking every 20 ms, or fails after limit.
func within(limit time.Duration, what string, so func() bool) error {
	for deadline := time.Now().Add(limit); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s until %s, in vain", limit, what)
		}
	}
	return nil
}

// joinEnd ends u and returns the first error. It also checks that nothing listens any more: a process that stays would
// slow the following parts.
func joinEnd(err error, u *upProcess) error {
	if failed := end(u.cmd); err == nil {
		err = failed
	}
	if _, closed := net.DialTimeout("tcp", u.queue, time.Second); err == nil && closed == nil {
		err = fmt.Errorf("muster up still listens on %s after its end", u.queue)
	}
	return err
}
