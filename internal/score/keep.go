package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// keep puts the parts of an earlier page that are not played now on this one, as they are. It refuses a page of another
// state of what decides.
func (p *page) keep(ctx context.Context, path string, now []part) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("-add: %w", err)
	}
	pieces := strings.Split(string(text), "\n## ")
	commit, date := line(pieces[0], "- commit: "), line(pieces[0], "- date: ")
	if strings.Contains(commit, ",") {
		return fmt.Errorf("-add: the page %s was played with changes that nobody committed; play it anew", path)
	}
	if err := sameDecisions(ctx, commit); err != nil {
		return err
	}
	for _, piece := range pieces[1:] {
		for _, x := range parts() {
			if !strings.HasPrefix(piece, x.name+". ") || listed(now, x) {
				continue
			}
			piece = "## " + strings.TrimRight(piece, "\n") + "\n"
			if !strings.Contains(piece, playedOn) {
				piece += fmt.Sprintf("\n%s%s on %s.\n", playedOn, commit, date)
			}
			if some := line(pieces[0], "- **only some scenarios**: part "+x.name+": "); some != "" && !strings.Contains(piece, onlySome) {
				piece += fmt.Sprintf("\n%s%s.\n", onlySome, some)
			}
			p.put(kept(x, piece))
		}
	}
	return nil
}

// kept counts the goals of a part as it is written.
func kept(x part, text string) played {
	k := played{part: x, text: text}
	for _, l := range strings.Split(text, "\n") {
		switch {
		case strings.HasSuffix(l, "| met |"):
			k.met++
			k.of++
		case strings.Contains(l, "| **not met**: "):
			k.of++
		}
	}
	k.of -= strings.Count(text, "| what | goal | found | met |")
	k.met -= strings.Count(text, "| what | goal | found | met |")
	return k
}

func listed(all []part, x part) bool {
	for _, y := range all {
		if y.name == x.name {
			return true
		}
	}
	return false
}

// line returns the rest of the line of a text that begins with start.
func line(text, start string) string {
	_, after, _ := strings.Cut(text, "\n"+start)
	after, _, _ = strings.Cut(after, "\n")
	return after
}

// sameDecisions refuses a commit that differs from what is here in more than pages and this command.
func sameDecisions(ctx context.Context, commit string) error {
	if commit == "" || strings.HasPrefix(commit, "-") {
		return fmt.Errorf("-add: the page names no commit")
	}
	out, err := exec.CommandContext(ctx, "git", "diff", "--name-only", commit, "--", ":/", ":(top,exclude)internal", ":(top,exclude)docs", ":(top,exclude)*.md", ":(top,exclude)Makefile").Output()
	if err != nil {
		return fmt.Errorf("-add: compare with the commit %s of the page: %w", commit, err)
	}
	if names := strings.Fields(string(out)); len(names) > 0 {
		return fmt.Errorf("-add: %d files changed since the commit %s of the page, %s among them: play it anew", len(names), commit, names[0])
	}
	return nil
}
