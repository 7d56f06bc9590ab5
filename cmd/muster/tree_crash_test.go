package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/app/treetool"
)

// TestKilledWorkersLoseNoNode kills workers again and again, with what they run, while they work on a tree; others take
// their messages when the visibility ends. In the end every node is done, and the tree was complete once.
func TestKilledWorkersLoseNoNode(t *testing.T) {
	const branching, depth, nodes, kills = 3, 4, 1 + 3 + 9 + 27 + 81, 12
	st := newStage(t)
	defer st.end()
	st.configure(t, "version: 1\ndata: data\nqueues:\n  - name: jobs\n    visibility: 2s\n  - name: ends\n")
	up := exec.Command("muster", "up", "-f", "muster.yaml")
	up.Dir, up.Env = st.dir, st.env
	up.Path = filepath.Join(binDir(t), "muster")
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	st.background = append(st.background, up)
	queue := func(name string) string {
		return "http://127.0.0.1:" + st.ports["QUEUE_PORT"] + "/000000000000/" + name
	}
	submit := fmt.Sprintf("muster tree -f muster.yaml submit --queue %s --id t --attempts 100 --depth %d "+
		"--final-queue %s root", queue("jobs"), depth, queue("ends"))
	waitUntil(t, 100*time.Millisecond, func() bool { _, err := st.run(submit); return err == nil },
		func() string { out, _ := st.run(submit); return string(out) })
	// The leaves wait for the first kill: on a fast machine the tree would be done before it. A leaf whose worker was
	// killed ends with the directory of the test at the latest.
	script := `if test "$MUSTER_TREE_DEPTH_LEFT" = 0
then while test -e muster.yaml && ! test -e killed; do sleep 0.02; done
else for i in 1 2 3; do echo "{\"key\":\"$i\"}"; done; fi
echo "$MUSTER_TREE_NODE" >>nodes`
	start := func() *exec.Cmd {
		c := exec.Command(filepath.Join(binDir(t), "muster"), "work", "-f", "muster.yaml", "--queue", queue("jobs"),
			"--visibility", "2s", "--retry", "1s",
			"--slots", "2", "--trees", "data/trees.db", "--log", "error", "--", "sh", "-c", script)
		c.Dir, c.Env = st.dir, st.env
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	random := rand.New(rand.NewPCG(1, uint64(os.Getpid())))
	workers := []*exec.Cmd{start(), start(), start()}
	killed := 0
	var s treetool.Status
	waitUntil(t, 150*time.Millisecond, func() bool {
		out, err := st.run("muster tree -f muster.yaml status t -o json")
		if err != nil || json.Unmarshal(out, &s) != nil {
			return false
		}
		if s.Created != s.Done+s.Failed+s.Open {
			t.Errorf("created is not done + failed + open: %s", out)
		}
		if i := random.IntN(len(workers)); s.Done > 0 && s.Open > 0 && killed < kills {
			workers[i].Process.Kill()
			workers[i].Wait()
			workers[i] = start()
			killed++
			if err := os.WriteFile(filepath.Join(st.dir, "killed"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
		return s.Open == 0 && s.Created > 0
	}, func() string { return fmt.Sprintf("after %d kills the tree is %+v", killed, s) })
	for _, w := range workers {
		w.Process.Signal(os.Interrupt)
		w.Wait()
	}
	if s.Done != nodes || s.Failed != 0 || s.Round != 1 {
		t.Errorf("%d nodes are done, %d failed in round %d; want %d done", s.Done, s.Failed, s.Round, nodes)
	}
	if killed == 0 {
		t.Error("no worker was killed: the test proves nothing")
	}
	if seen := strings.Fields(read(t, filepath.Join(st.dir, "nodes"))); len(seen) < nodes {
		t.Errorf("the program ran %d times, want %d at least", len(seen), nodes)
	}
	out, err := st.run("muster queue -f muster.yaml peek ends")
	if err != nil || !strings.Contains(string(out), s.Completion) {
		t.Errorf("the end was not told: %v\n%s", err, out)
	}
	t.Logf("%d nodes, %d workers killed", s.Done, killed)
}
