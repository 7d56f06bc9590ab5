// Package built tells what a program was built from: its version, commit and platform.
package built

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Development is the version of what was built from sources without one.
const Development = "development"

// Program is what is known of a program.
type Program struct {
	// Version is that of the release or the module.
	Version string `json:"version"`
	// Commit is the one it was built from; empty where that is not known. Modified is true when files had changed
	// since.
	Commit   string `json:"commit,omitzero"`
	Modified bool   `json:"modified,omitzero"`
	// Module is its path, Go what built it, Platform what it was built for.
	Module   string `json:"module,omitzero"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// From returns what is known of a program by the version of its release, which may be empty, and by what the linker
// noted, which may be nil.
func From(release string, info *debug.BuildInfo) Program {
	b := Program{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info != nil {
		b.Module = info.Main.Path
		if v := info.Main.Version; b.Version == "" && v != "(devel)" {
			b.Version = v
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	if b.Version == "" {
		b.Version = Development
	}
	if b.Commit == "" {
		b.Commit = pseudoCommit(b.Version)
	}
	return b
}

// pseudoCommit returns the commit in a version that Go made of one, as in v0.0.0-20260301120000-0123456789ab; empty for
// others.
func pseudoCommit(version string) string {
	version, _, _ = strings.Cut(version, "+")
	parts := strings.Split(version, "-")
	last := parts[len(parts)-1]
	if len(parts) < 3 || len(last) != 12 {
		return ""
	}
	return last
}

// String says on one line what is known.
func (b Program) String() string {
	var more []string
	if b.Commit != "" {
		commit := "commit " + b.Commit
		if b.Modified {
			commit += " with changes"
		}
		more = append(more, commit)
	}
	return fmt.Sprintf("muster %s (%s)", b.Version, strings.Join(append(more, b.Go, b.Platform), ", "))
}
