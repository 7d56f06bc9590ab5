package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Part trees. It is the only part about recursive work that measures the clock: real processes, a real queue, and the
// store of trees in a file.

const (
	// A tree has treeFan^0 + ... + treeFan^treeDepth nodes, each of which takes treeNode in one of treeSlots processes.
	treeFan, treeDepth, treeSlots = 3, 4, 8
	treeNode                      = 500 * time.Millisecond
	// treeRuns is how many trees are worked on, one after the other, each begun with no worker there.
	treeRuns = 3
)

// trees measures how long real worker processes take for a tree, from its submission to its completion. The goal is
// relative to the lower bound of any schedule: the larger of the longest path and the work divided by the slots.
func (b *bench) trees() error {
	dir := filepath.Join(b.dir, "trees")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	// The program of the workers names its children and then sleeps, so that others work on them meanwhile.
	script := filepath.Join(dir, "node")
	text := fmt.Sprintf("#!/bin/sh\nif [ \"$MUSTER_TREE_DEPTH\" -lt %d ]; then\n  i=0\n  while [ $i -lt %d ]; do "+
		"i=$((i + 1)); echo \"{\\\"key\\\":\\\"$i\\\"}\"; done\nfi\nexec sleep %g\n",
		treeDepth, treeFan, treeNode.Seconds())
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		return err
	}
	u, err := b.up(dir, treeSlots, fmt.Sprintf("    policy: exact\n    workers: {command: [%q], idle: 500ms}\n",
		script))
	if err != nil {
		return err
	}
	var all []time.Duration
	nodes, width := 0, 1
	// A full tree: each level has treeFan times the nodes of the one above.
	for range treeDepth + 1 {
		nodes, width = nodes+width, width*treeFan
	}
	for i := range treeRuns {
		took, err := b.tree(u, dir, fmt.Sprintf("t%d", i), nodes)
		if err == nil {
			// Each tree begins without workers, so every run pays the same starts.
			err = u.empty()
		}
		if err != nil {
			return joinEnd(err, u)
		}
		all = append(all, took)
	}
	if err := joinEnd(nil, u); err != nil {
		return err
	}
	took := quantile(all, 0.5)
	// The longest path is one node for each level.
	least := max(treeNode*(treeDepth+1), time.Duration(nodes)*treeNode/treeSlots)
	b.page.goal(fmt.Sprintf("a tree of %d nodes of %s in up to %d processes, policy exact, from submission to "+
		"completion", nodes, ms(treeNode), treeSlots),
		fmt.Sprintf("<= 1.3 x max(span, work / slots) = %.2f s", 1.3*least.Seconds()),
		fmt.Sprintf("%.2f s, %.2f x; median of %d", took.Seconds(), took.Seconds()/least.Seconds(), treeRuns),
		took <= least*13/10,
		"each node is two receives, a start of the command and some synced transactions, one after the other.")
	return nil
}

// tree submits one tree, waits until it ends, and returns how long that took by the tree's own times.
func (b *bench) tree(u *upProcess, dir, id string, nodes int) (time.Duration, error) {
	var done struct {
		Submitted time.Time `json:"submitted_at"`
		Finished  time.Time `json:"finished_at"`
		Done      int       `json:"done"`
	}
	command := exec.Command(b.muster, "tree", "-f", filepath.Join(dir, "muster.yaml"), "submit", "--queue", "http://"+
		u.queue+"/000000000000/"+queueName, "--id", id, "--watch", "-o", "json", "root")
	command.Env = append(os.Environ(), "AWS_ENDPOINT_URL_SQS=http://"+u.queue, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out, &done)
	}
	if err == nil && done.Done != nodes {
		err = fmt.Errorf("found %d nodes done, want %d", done.Done, nodes)
	}
	if err != nil {
		return 0, fmt.Errorf("work on the tree %s: %w", id, err)
	}
	return done.Finished.Sub(done.Submitted), nil
}
