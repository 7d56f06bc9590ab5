package execution

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker"
)

func TestAProgramThatDiedIdleHasNotBegun(t *testing.T) {
	p, err := startProgram(t.Context(),
		Command{Argv: []string{"/bin/sh", "-c", `echo '{"type":"ready","protocol":1}'; exec cat >/dev/null`}}, 0, 1,
		time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	signalGroup(p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.gone
	if errs := p.call(t.Context(), []byte("{}\n"), []string{"1"}, []worker.Message{{ID: "m"}}); !errors.Is(errs[0],
		worker.ErrNotBegun) {
		t.Errorf("got %v, want work that did not begin: no byte of it was read", errs[0])
	}
	if p.alive() {
		t.Error("it is taken for alive")
	}
}

// TestAnEndpointStaysHereWhateverANameStandsFor has its connections refused before a packet is sent.
func TestAnEndpointStaysHereWhateverANameStandsFor(t *testing.T) {
	e, err := NewEndpoint(t.Context(), EndpointOptions{URL: "http://localhost:1/"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, elsewhere := range []string{"192.0.2.1:80", "[2001:db8::1]:80", "[::ffff:169.254.169.254]:80",
		"0.0.0.0:80"} {
		if c, err := e.dialer.DialContext(t.Context(), "tcp", elsewhere); !errors.Is(err, errElsewhere) {
			t.Errorf("%s: connected %v, %v", elsewhere, c != nil, err)
		}
	}
}

func TestThePauseGrowsOnlyWhileProgramsAnswerNothing(t *testing.T) {
	tests := []struct {
		name     string
		answered []int64
		want     int
	}{
		{"the first that fails", []int64{0}, 1},
		{"one after the other", []int64{0, 0, 0}, 3},
		{"one that worked breaks the row, and its own end counts", []int64{0, 0, 5}, 1},
		{"the row begins anew", []int64{0, 5, 0, 0}, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			failures := 0
			for _, n := range test.answered {
				failures = failuresInARow(failures, n)
			}
			if failures != test.want {
				t.Errorf("%d failures in a row, want %d", failures, test.want)
			}
		})
	}
}

// TestDeadProgramsMakeRoom offers many that died before anybody took them.
func TestDeadProgramsMakeRoom(t *testing.T) {
	l := &Lines{idle: make(chan *program, 2)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10 {
			dead := &program{exited: make(chan struct{})}
			close(dead.exited)
			l.offer(dead)
		}
		l.offer(&program{exited: make(chan struct{})})
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("offering waits for somebody to take the dead ones")
	}
	if p := <-l.idle; !p.alive() || len(l.idle) != 0 {
		t.Error("it kept a dead program in place of the living one")
	}
}
