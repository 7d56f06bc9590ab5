// Package built reports what a program was built from: version, commit and platform. `muster version`
// shows it. [From] combines the version of a release, set by the linker, with what the Go linker
// recorded.
package built

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Development is the version of a program built from sources without a version.
const Development = "development"

// Program is what is known of the build of a program.
type Program struct {
	// Version is the version of the release or of the module.
	Version string `json:"version"`
	// Commit is the commit it was built from; empty if unknown. Modified says that files had changed
	// since.
	Commit   string `json:"commit,omitzero"`
	Modified bool   `json:"modified,omitzero"`
	// Module is the path of the module, Go the version of the toolchain, Platform the target.
	Module   string `json:"module,omitzero"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// From returns what is known of a program. release is the version of its release, which may be empty.
// info is what the linker recorded, which may be nil.
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

// pseudoCommit returns the commit in a pseudo-version, such as v0.0.0-20260301120000-0123456789ab;
// empty for other versions.
func pseudoCommit(version string) string {
	version, _, _ = strings.Cut(version, "+")
	parts := strings.Split(version, "-")
	last := parts[len(parts)-1]
	if len(parts) < 3 || len(last) != 12 {
		return ""
	}
	return last
}

// String returns one line for people.
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
