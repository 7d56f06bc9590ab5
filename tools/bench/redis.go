package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Redis as a durable queue, with the same promise as Muster's: an acknowledged operation is on disk (appendfsync
// always). The file also has what all parts use to start and end other programs.

// errNoPeer says why a peer is not measured.
var errNoPeer = errors.New("the peer is missing")

// findRedis returns the path of redis-server, which it installs on a Debian machine that it may change. Elsewhere it
// returns errNoPeer, and the comparison is left out.
func findRedis() (string, error) {
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path, nil
	}
	if _, err := os.Stat("/etc/debian_version"); err != nil || os.Geteuid() != 0 {
		return "", fmt.Errorf("%w: redis-server is not installed, and only root on Debian lets it be installed; "+
			"install it and run again", errNoPeer)
	}
	for _, args := range [][]string{{"update"}, {"install", "--yes", "--no-install-recommends", "redis-server"}} {
		install := exec.Command("apt-get", args...)
		// The run level of a rescue shell: the package's own service is not to be started.
		install.Env = append(os.Environ(), "RUNLEVEL=1", "DEBIAN_FRONTEND=noninteractive")
		if out, err := install.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: apt-get %s: %w: %s", errNoPeer, args[0], err, lastLine(out))
		}
	}
	return exec.LookPath("redis-server")
}

// lastLine returns the last line of a program's output, where its error usually is.
func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// startRedis runs a server of its own that syncs every write before it answers, and returns a lane of clients that
// push, move and remove one message at a time. That is the same promise as that of the durable queue: what was
// acknowledged is on disk.
func startRedis(dir string) (*lane, string, error) {
	program, err := findRedis()
	if err != nil {
		return nil, "", err
	}
	version, err := exec.Command(program, "--version").Output()
	if err != nil {
		return nil, "", err
	}
	// A server of its own leaves one that runs here alone.
	port, err := freePort()
	if err != nil {
		return nil, "", err
	}
	dir = filepath.Join(dir, "redis")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, "", err
	}
	// No snapshots; every write is synced before the answer.
	server := exec.Command(program, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no")
	if err := server.Start(); err != nil {
		return nil, "", err
	}
	l := &lane{name: "redis-server, appendfsync always", cycle: "RPUSH + LMOVE + LREM",
		close: func() error { return end(server) }, server: server.Process.Pid}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for i := range clients {
		c, err := dial(address)
		if err != nil {
			return nil, "", errors.Join(err, l.close())
		}
		l.steps = append(l.steps, redisCycle(&resp{c, bufio.NewReader(c)}, i))
	}
	fields := strings.Fields(string(version))
	return l, strings.Join(fields[:min(3, len(fields))], " "), nil
}

// redisCycle sends, receives and deletes one message: RPUSH, LMOVE to a list of messages in flight, LREM from there.
// Each is one synced write.
func redisCycle(c *resp, client int) step {
	n := 0
	return func() (int, error) {
		n++
		// Every body differs, so that LREM finds exactly one.
		body := fmt.Sprintf("%-*d", bodyBytes, client*1_000_000_000+n)
		if _, err := c.call("RPUSH", "queue", body); err != nil {
			return 0, err
		}
		got, err := c.call("LMOVE", "queue", "taken", "LEFT", "RIGHT")
		if err != nil {
			return 0, err
		}
		removed, err := c.call("LREM", "taken", "1", got)
		if err == nil && removed != "1" {
			err = fmt.Errorf("LREM removed %s messages, want 1", removed)
		}
		return 1, err
	}
}

// resp speaks the little of the Redis protocol that a cycle needs.
type resp struct {
	net.Conn
	in *bufio.Reader
}

// call sends a command and returns its answer: a text, or a number as text.
func (c *resp) call(args ...string) (string, error) {
	out := make([]byte, 0, 1024)
	out = fmt.Appendf(out, "*%d\r\n", len(args))
	for _, a := range args {
		out = append(strconv.AppendInt(append(out, '$'), int64(len(a)), 10), "\r\n"...)
		out = append(append(out, a...), "\r\n"...)
	}
	if _, err := c.Write(out); err != nil {
		return "", err
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	// is a status, : a number, $ a text with its length, - an error.
	kind, rest := line[0], strings.TrimSuffix(line[1:], "\r\n")
	switch kind {
	case '+', ':':
		return rest, nil
	case '$':
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return "", fmt.Errorf("%s: found no message", args[0])
		}
		text := make([]byte, n+2)
		_, err = io.ReadFull(c.in, text)
		return string(text[:n]), err
	}
	return "", fmt.Errorf("%s: %s", args[0], line)
}

// freePort returns a port that is free now. Another process may take it before it is used; then the start fails and
// bench is run again.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// dial connects to a server that is still starting.
func dial(address string) (net.Conn, error) {
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := net.Dial("tcp", address)
		if err == nil || time.Now().After(deadline) {
			return c, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// end asks a process to end and waits for it, and kills it when it takes more than ten seconds.
func end(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	// Bounded, so that one process that hangs cannot hold up the others.
	kill := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
	defer kill.Stop()
	if err := cmd.Wait(); err != nil {
		// A process that was interrupted may end with any status.
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			return err
		}
	}
	return nil
}
