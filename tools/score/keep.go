package main

import (
	"fmt"
	"os"
	"strings"
)

// A complete run takes hours, so a page may be made in several runs: -add takes parts from earlier pages. The text of a
// part is all that is kept of it; its goals are counted from that text.

// keep takes over the parts of an earlier page that are not played now. It refuses a page that was played with
// uncommitted changes, or by code with another fingerprint: its figures would not belong to this code.
func (p *page) keep(path string, now []part) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("-add: %w", err)
	}
	// Each part begins with a heading of the second level.
	pieces := strings.Split(string(text), "\n## ")
	commit, date := line(pieces[0], "- commit: "), line(pieces[0], "- date: ")
	if strings.Contains(commit, ",") {
		return fmt.Errorf("-add: the page %s was played with uncommitted changes; play it anew", path)
	}
	if print := line(pieces[0], fingerprintOn); print == "" {
		return fmt.Errorf("-add: the page %s has no fingerprint of what decides; play it anew", path)
	} else if print != p.fingerprint {
		return fmt.Errorf("-add: the page %s was played with code that decides otherwise, its fingerprint is %s and "+
			"that of this code %s: play it anew", path, print, p.fingerprint)
	}
	for _, piece := range pieces[1:] {
		for _, x := range parts() {
			if !strings.HasPrefix(piece, x.name+". ") || listed(now, x) {
				continue
			}
			piece = "## " + strings.TrimRight(piece, "\n") + "\n"
			// Pages of an older form say that in their head only.
			if !strings.Contains(piece, playedOn) {
				piece += fmt.Sprintf("\n%s%s on %s.\n", playedOn, commit, date)
			}
			if some := line(pieces[0], "- **only some scenarios**: part "+x.name+": "); some != "" &&
				!strings.Contains(piece, onlySome) {
				piece += fmt.Sprintf("\n%s%s.\n", onlySome, some)
			}
			p.put(kept(x, piece))
		}
	}
	return nil
}

// kept makes a part from its text on an earlier page, and counts its goals there. The head of the table ends like a met
// goal, so it is subtracted.
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
	k.of -= strings.Count(text, goalsOn)
	k.met -= strings.Count(text, goalsOn)
	return k
}

// listed tells whether a part is in a list.
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
