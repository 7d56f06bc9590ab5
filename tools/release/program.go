package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// program is the built program of one platform, and what the linker recorded about it.
type program struct {
	platform
	// path is the absolute path of the built file.
	path string
	// version is the version of the module: a tag such as v1.2.0, or a pseudo-version. Its form is checked.
	version string
	// commit is its full hash.
	commit string
	// at is the time of the commit, UTC.
	at time.Time
	// dirty says that files differed from the commit.
	dirty bool
	// build is all that was recorded: above all, the modules.
	build *debug.BuildInfo
}

// source is a program to build: its folder, and the build tags that it needs.
type source struct{ folder, tags string }

// The programs of a release. The tag leaves out a protocol that the runtime of the functions does not have.
const (
	mainFolder     = "./cmd/muster"
	functionFolder = "./cmd/muster-lambda"
	functionTags   = "lambda.norpc"
)

// coldPackages are compiled without inlining in a release: what they do happens at most a few times a second, and waits
// for a network or a disk. The program is 2 MB smaller by it, because a call that is inlined costs code, and tables for
// stack traces, at each place.
var coldPackages = []string{
	"github.com/aws/...", "github.com/hashicorp/...", "github.com/lib/pq/...", "github.com/spf13/...",
	"github.com/zclconf/...", "go.yaml.in/...", "github.com/muster-scale/muster/cmd/...",
	"github.com/muster-scale/muster/config/...", "github.com/muster-scale/muster/deploy/...",
	"github.com/muster-scale/muster/kinds/...",
}

// buildProgram builds a static program for one platform, without symbols and paths of this machine. Without symbols
// it has two thirds of its size, and stack traces stay readable. The environment cannot change the result: what could
// is set here, except for the version of Go, which the program records.
//
// But for the cold packages, the flags are those of .ci/run, so that both share what they compiled.
func buildProgram(ctx context.Context, root string, p platform, from source, path string) (program, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return program{}, err
	}
	arguments := []string{"build", "-trimpath", "-mod=readonly", "-buildvcs=true", "-ldflags=-s -w",
		"-tags=" + from.tags}
	for _, packages := range coldPackages {
		arguments = append(arguments, "-gcflags="+packages+"=-l")
	}
	build := exec.CommandContext(ctx, "go", append(arguments, "-o", absolute, from.folder)...)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1",
		"GOARM64=v8.0", "GOOS="+p.os, "GOARCH="+p.arch)
	var said bytes.Buffer
	build.Stdout, build.Stderr = &said, &said
	if err := build.Run(); err != nil {
		return program{}, fmt.Errorf("build %s for %s: %w\n%s", from.folder, p, err, said.String())
	}
	recorded, err := buildinfo.ReadFile(absolute)
	if err != nil {
		return program{}, err
	}
	return readProgram(p, absolute, recorded)
}

// readProgram takes version, commit and time from what the linker recorded. It returns an error unless all three are
// there: without a clone, or without its tags, a program does not know what it is.
func readProgram(p platform, path string, recorded *debug.BuildInfo) (program, error) {
	b := program{platform: p, path: path, build: recorded}
	version, metadata, _ := strings.Cut(recorded.Main.Version, "+")
	b.version = version
	b.dirty = strings.Contains(metadata, "dirty")
	for _, s := range recorded.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			at, err := time.Parse(time.RFC3339, s.Value)
			if err != nil {
				return program{}, fmt.Errorf("the time of the commit: %w", err)
			}
			b.at = at.UTC()
		case "vcs.modified":
			b.dirty = b.dirty || s.Value == "true"
		}
	}
	if !strings.HasPrefix(b.version, "v") || b.commit == "" || b.at.IsZero() {
		return program{}, fmt.Errorf("the program records version %q, commit %q, time %q; a release needs all three: "+
			"build it in a clone made by git, with its tags", recorded.Main.Version, b.commit, b.at)
	}
	return b, nil
}

// number returns the version without its v, as packages write it. The hyphen of a version before a release becomes a
// tilde, which both package formats sort before the release itself. Other hyphens would begin a package's own revision.
func (b program) number() string {
	number, before, early := strings.Cut(strings.TrimPrefix(b.version, "v"), "-")
	if early {
		number += "~" + strings.ReplaceAll(before, "-", ".")
	}
	return number
}

// base is the beginning of the names of files. A tilde would have to be quoted in URLs and shells.
func (b program) base() string { return "muster_" + strings.TrimPrefix(b.version, "v") }

// completions returns the completion files by their names in an archive, from the program itself. The names are those
// that each shell looks for: zsh wants an underscore.
func completions(ctx context.Context, path string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for shell, name := range map[string]string{"bash": "muster.bash", "zsh": "_muster", "fish": "muster.fish"} {
		out, err := exec.CommandContext(ctx, path, "completion", shell).Output()
		if err != nil || len(out) == 0 {
			return nil, fmt.Errorf("completion for %s: %d bytes, %v", shell, len(out), err)
		}
		all[name] = out
	}
	return all, nil
}
