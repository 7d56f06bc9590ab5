package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi"
)

// This program starts itself for whatever needs a process of its own: a server, because the other programs' servers
// have one too; an opening of a backlog, because peak memory belongs to a process; a simulation, because it runs on one
// core. The parent passes a role and its arguments on the command line, and reads one line from standard output.

// roles are what this program does when it starts itself: a server has a process of its own, as the peer has. Each ends
// when its standard input does.
var roles = map[string]func(args []string, out io.Writer) error{
	"serve-sqs":   serveSQS,
	"serve-empty": serveEmpty,
	"open":        openOnce,
	"simulate":    simulateOnce,
}

// serveSQS serves the SQS endpoint of the queues in a directory to every caller.
func serveSQS(args []string, out io.Writer) error {
	// A variable, because the command line of a role is fixed.
	if path := os.Getenv("BENCH_SERVER_PROFILE"); path != "" {
		stop, err := profile(path)
		if err != nil {
			return err
		}
		defer stop()
	}
	host.SparePlace() // as muster up does
	queues, err := queue.Open(queue.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	// The front is what muster up serves on loopback.
	return errors.Join(serve(sqsapi.NewTCPServer(sqsapi.New(sqsapi.Options{Queues: queues, AnyCredentials: true}), nil),
		out), queues.Close())
}

// serveEmpty reads every request and answers with an empty object. It is the upper bound for any endpoint over net/http
// on this machine.
func serveEmpty(_ []string, out io.Writer) error {
	return serve(&http.Server{ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Like the endpoint, it reads the whole request.
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			io.WriteString(w, "{}")
		})}, out)
}

// serve listens on a free port of loopback, prints its address as the first line, and serves until standard input ends.
// So the server ends with the process that started it, even if that is killed.
func serve(s interface {
	Serve(net.Listener) error
	Close() error
}, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, l.Addr())
	// Standard input ends with the parent process, whatever ends that.
	go func() {
		io.Copy(io.Discard, os.Stdin)
		s.Close()
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// opened is what it took to open a directory of queues.
type opened struct {
	Seconds float64 `json:"seconds"`
	// Resident and Peak are bytes of memory: some seconds later, and the most it ever took. Live is what was in use.
	Resident int64 `json:"resident"`
	Peak     int64 `json:"peak"`
	Live     int64 `json:"live"`
	Messages int   `json:"messages"`
}

// openOnce opens a directory and prints the time and memory it took. It has a process of its own, because the peak of
// memory is that of the whole process.
func openOnce(args []string, out io.Writer) error {
	begin := time.Now()
	s, err := queue.Open(queue.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	o := opened{Seconds: time.Since(begin).Seconds()}
	// The counts prove that every message was found.
	n, err := s.Counts(queueName)
	if err != nil {
		return err
	}
	o.Messages = n.Visible + n.InFlight + n.Delayed
	// The garbage of opening is not collected by force here, because muster up does not do that either.
	time.Sleep(3 * time.Second)
	if o.Resident, o.Peak, err = memory(os.Getpid()); err != nil {
		return err
	}
	o.Live = heap()
	return errors.Join(json.NewEncoder(out).Encode(o), s.Close())
}

// child is this program, started in a role. It ends when its standard input is closed.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	// says is the first line it wrote.
	says string
}

// startRole starts this program in a role and waits for the first line of its output: an address, or the result.
func startRole(args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self, args...)}
	// Its errors appear where those of this program do.
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	// A role that fails writes no line, so this ends with an error.
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if c.says = strings.TrimSpace(line); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", args[0], err), c.end())
	}
	return c, nil
}

// end lets the child end and waits for it.
func (c *child) end() error { return errors.Join(c.stdin.Close(), c.cmd.Wait()) }
