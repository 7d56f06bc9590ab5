package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// The commit decides which worlds and seeds are fresh, so it must be known, and the page says whether the code had
// changes beside it.

// checkedOut returns the commit that is checked out, and whether there are uncommitted changes; a given commit is
// returned as it is. The page itself does not count as a change, because this program writes it.
func checkedOut(ctx context.Context, given string) (commit string, dirty bool, err error) {
	if given != "" {
		return given, false, nil
	}
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", false, fmt.Errorf("ask git for the commit, which the worlds of part box and the seeds of part h "+
			"are made from: %w; start it within a clone, or give -commit", err)
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ":/",
		":(top,exclude)docs/quality.md").Output()
	if err != nil {
		return "", false, fmt.Errorf("ask git for changes: %w; give -commit", err)
	}
	return strings.TrimSpace(string(out)), len(changes) > 0, nil
}
