package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// allPlatforms are the platforms of a release. .ci/run builds each of them for every change.
const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run reads the flags and builds the release. A second run into the same directory replaces the first. An error leaves
// no checksums, so that a half-built release cannot be taken for a whole one.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", ".", "the clone to build")
	dist := flags.String("out", "dist", "the directory for the result; it must be missing, empty, or of an earlier run")
	named := flags.String("platforms", allPlatforms, "what to build for, as OS/ARCH, separated by commas")
	// The version of such a program ends in +dirty, which no tag can, so it is never taken for a release.
	dirty := flags.Bool("dirty", false, "build a clone with uncommitted changes, to try something")
	if err := flags.Parse(args); err != nil {
		return err
	}
	platforms, err := parsePlatforms(*named)
	if err != nil {
		return err
	}
	r := release{root: *root, dist: *dist, platforms: platforms, dirty: *dirty, out: out}
	return r.run(ctx)
}

// platform is an operating system and a processor, in the words of Go.
type platform struct{ os, arch string }

// String returns the platform as Go writes it, such as linux/amd64.
func (p platform) String() string { return p.os + "/" + p.arch }

// parsePlatforms reads a list such as linux/amd64,darwin/arm64. It allows the platforms of a release, each once.
func parsePlatforms(list string) (all []platform, err error) {
	for _, name := range strings.Split(list, ",") {
		if !slices.Contains(strings.Split(allPlatforms, ","), name) {
			return nil, fmt.Errorf("-platforms: found %q, allowed are %s", name, allPlatforms)
		}
		system, arch, _ := strings.Cut(name, "/")
		p := platform{system, arch}
		if slices.Contains(all, p) {
			return nil, fmt.Errorf("-platforms: found %s twice", name)
		}
		all = append(all, p)
	}
	return all, nil
}

// release is one run of this program.
type release struct {
	// root is the clone, dist the directory of the result.
	root, dist string
	// platforms are what to build for. There is an image if one of them is Linux.
	platforms []platform
	// dirty allows a clone with uncommitted changes.
	dirty bool
	// out gets a line for each step and each file.
	out io.Writer
	// work is a directory for intermediate files, which is removed at the end.
	work string
}

// run builds everything. The result is complete when it returns nil: the checksums are written last.
func (r *release) run(ctx context.Context) error {
	if err := clear(r.dist); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "muster-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r.work = work
	stages, err := r.stages(ctx)
	if err != nil {
		return err
	}
	var images []stage
	for _, s := range stages {
		if err := r.write(s.program.base()+"_"+s.program.os+"_"+s.program.arch+".tar.gz", s.archive); err != nil {
			return err
		}
		if s.program.os != "linux" {
			continue // macOS has neither these packages nor containers of its own
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.write(packageName(s.program, format), func(w io.Writer) error {
				return s.linuxPackage(format, w)
			}); err != nil {
				return err
			}
		}
		images = append(images, s)
	}
	if len(images) > 0 {
		if err := r.write(images[0].program.base()+"_image.tar", func(w io.Writer) error {
			return writeImage(w, images, filepath.Join(r.work, "image"))
		}); err != nil {
			return err
		}
	}
	return writeSums(r.dist)
}

// pages builds the dashboard's pages, which the programs of all platforms embed. The same versions of Node and of the
// packages make the same bytes; git ignores the files, so the clone stays clean.
func (r *release) pages(ctx context.Context) error {
	fmt.Fprintln(r.out, "building the dashboard")
	build := exec.CommandContext(ctx, "scripts/ui")
	build.Dir = r.root
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the dashboard with scripts/ui: %w\n%s", err, said)
	}
	return nil
}

// stages builds the program for each platform, and collects the files around it. The completions come from the program
// of this machine, which is built in addition where no platform can run here.
func (r *release) stages(ctx context.Context) ([]stage, error) {
	if err := r.pages(ctx); err != nil {
		return nil, err
	}
	var programs []program
	here := platform{runtime.GOOS, runtime.GOARCH}
	build := r.platforms
	if !slices.Contains(build, here) {
		build = append(slices.Clone(build), here)
	}
	for _, p := range build {
		fmt.Fprintf(r.out, "building for %s\n", p)
		built, err := buildProgram(ctx, r.root, p, source{folder: mainFolder},
			filepath.Join(r.work, p.os+"-"+p.arch, "muster"))
		if err != nil {
			return nil, err
		}
		if built.dirty && !r.dirty {
			return nil, fmt.Errorf("%s has uncommitted changes, so nobody could build the same again; commit them, or "+
				"try them with -dirty", r.root)
		}
		programs = append(programs, built)
	}
	running := programs[slices.Index(build, here)]
	// They are the same for all platforms: the commands and flags are.
	completions, err := completions(ctx, running.path)
	if err != nil {
		return nil, err
	}
	sources, err := moduleDirs(ctx, r.root)
	if err != nil {
		return nil, err
	}
	var all []stage
	// A program that was built for its completions alone is the last one, and is left out.
	for _, p := range programs[:len(r.platforms)] {
		s, err := newStage(r.root, p, completions, sources)
		if err != nil {
			return nil, err
		}
		// Scanners want the bill without unpacking an archive.
		if err := r.write(p.base()+"_"+p.os+"_"+p.arch+".spdx.json", func(w io.Writer) error {
			_, err := w.Write(s.bill)
			return err
		}); err != nil {
			return nil, err
		}
		if p.os == "linux" {
			if err := r.function(ctx, p.platform, s, sources); err != nil {
				return nil, err
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// write writes one file of the result. A file that exists is an error: two parts of a release would have one name.
func (r *release) write(name string, content func(io.Writer) error) error {
	f, err := os.OpenFile(filepath.Join(r.dist, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := content(f); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "wrote %s\n", filepath.Join(r.dist, name))
	return nil
}
