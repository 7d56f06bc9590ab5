package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// SimPy, a simulator in Python that many people use, runs the same queue (mmk.py). It shows what to expect of a
// simulator that is not written for this purpose.

//go:embed mmk.py
var mmkScript []byte

// simpyVersion is the peer's, so that runs can be compared.
const simpyVersion = "4.1.1"

// simpyRun is what SimPy did.
type simpyRun struct {
	Messages int64   `json:"messages"`
	Seconds  float64 `json:"seconds"`
	MeanWait float64 `json:"mean_wait_s"`
	Version  string  `json:"version"`
}

// simpy runs the queue M/M/k in SimPy, which it installs in an environment of its own. The script mmk.py prints the
// result as JSON.
func (b *bench) simpy(n int) (run simpyRun, err error) {
	python, err := b.python()
	if err != nil {
		return run, err
	}
	script := filepath.Join(b.dir, "mmk.py")
	if err := os.WriteFile(script, mmkScript, 0o600); err != nil {
		return run, err
	}
	cmd := exec.Command(python, script, strconv.Itoa(n), strconv.Itoa(mmkServers), fmt.Sprint(mmkRate),
		fmt.Sprint(mmkService.Seconds()), "1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return run, fmt.Errorf("run the queue in SimPy: %w", err)
	}
	return run, json.Unmarshal(out, &run)
}

// python returns an interpreter that has SimPy, or errNoPeer.
func (b *bench) python() (string, error) {
	dir := filepath.Join(b.dir, "simpy")
	// An environment of its own leaves the Python of the user alone.
	for _, args := range [][]string{
		{"python3", "-m", "venv", dir},
		{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"simpy==" + simpyVersion},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: install SimPy %s, which needs Python 3 with venv and its package registry: "+
				"%w: %s", errNoPeer, simpyVersion, err, lastLine(out))
		}
	}
	return filepath.Join(dir, "bin", "python"), nil
}
