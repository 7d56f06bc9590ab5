package main

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestUpGoesOnUnderIdleConnections lets muster up have 256 files open and opens 600 connections at its two ports, which
// say nothing. It goes on, is ready, takes messages, and keeps files for itself.
func TestUpGoesOnUnderIdleConnections(t *testing.T) {
	st := newStage(t)
	defer st.end()
	st.configure(t, "version: 1\ndata: data\n")
	up := exec.Command("sh", "-c", "ulimit -n 256 && exec muster up -f muster.yaml")
	up.Dir, up.Env = st.dir, st.env
	var log strings.Builder
	up.Stderr = &log
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	st.background = append(st.background, up)
	ready := func() error {
		c := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := c.Get("http://127.0.0.1:" + st.ports["API_PORT"] + "/readyz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("status %s", answer.Status)
		}
		return nil
	}
	waitUntil(t, 50*time.Millisecond, func() bool { return ready() == nil },
		func() string { return fmt.Sprint(ready()) })
	for i := range 600 {
		port := st.ports["QUEUE_PORT"]
		if i%3 == 0 {
			port = st.ports["API_PORT"]
		}
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer c.Close()
	}
	// An accept may just have failed for want of a file: it has not, a moment later.
	waitUntil(t, 50*time.Millisecond, func() bool { return ready() == nil },
		func() string { return fmt.Sprint("not ready: ", ready()) })
	send := "muster send -f muster.yaml --queue http://127.0.0.1:" + st.ports["QUEUE_PORT"] +
		"/000000000000/default --body x --count 3"
	if out, err := st.run("muster queue -f muster.yaml create default; " + send); err != nil {
		t.Errorf("a send: %v: %s", err, out)
	}
	st.end()
	st.background = nil
	if !up.ProcessState.Success() || !strings.Contains(log.String(), "there is no room for more connections") {
		t.Errorf("muster up ended with %v and said: %s", up.ProcessState, &log)
	}
}
