package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stage is where the sessions of a README run: a directory, an environment and ports of its own.
type stage struct {
	dir        string
	env        []string
	ports      map[string]string
	background []*exec.Cmd
}

func newStage(t *testing.T) *stage {
	t.Helper()
	st := &stage{dir: t.TempDir(), ports: map[string]string{}}
	// Under the race detector every process waits a second before it ends, unless told otherwise.
	st.env = append(os.Environ(), "PATH="+binDir(t)+":"+os.Getenv("PATH"), "GORACE=atexit_sleep_ms=100")
	if err := setupEnv(func(name, value string) { st.env, st.ports[name] = append(st.env, name+"="+value), value },
		st.dir); err != nil {
		t.Fatal(err)
	}
	return st
}

// local returns a text with the ports of this stage. Texts for people speak of the usual ones, which may be in use
// here.
func (st *stage) local(text string) string {
	return strings.NewReplacer(":9324", ":"+st.ports["QUEUE_PORT"], ":9325", ":"+st.ports["API_PORT"]).Replace(text)
}

// configure writes muster.yaml, which says nothing of ports.
func (st *stage) configure(t *testing.T, yaml string) {
	t.Helper()
	listen := fmt.Sprintf("listen: {queue: \"127.0.0.1:%s\", api: \"127.0.0.1:%s\"}\n", st.ports["QUEUE_PORT"],
		st.ports["API_PORT"])
	if err := os.WriteFile(filepath.Join(st.dir, "muster.yaml"), []byte(yaml+listen), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a command line and returns what it prints.
func (st *stage) run(command string) ([]byte, error) {
	c := exec.Command("sh", "-c", command)
	c.Dir, c.Env = st.dir, st.env
	return c.CombinedOutput()
}

// end interrupts what runs in the background, and waits for it.
func (st *stage) end() {
	for _, c := range st.background {
		c.Process.Signal(os.Interrupt)
		c.Wait()
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
