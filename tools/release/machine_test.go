package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"golang.org/x/sync/errgroup"
)

// TestOnThisMachine builds the committed state for this machine twice, from two clones, and uses everything as a user
// would. It takes most of a minute, so it runs only with MUSTER_RELEASE=1: make release-test.
func TestOnThisMachine(t *testing.T) {
	if os.Getenv("MUSTER_RELEASE") == "" || runtime.GOOS != "linux" {
		t.Skip("this takes most of a minute and needs Linux: make release-test")
	}
	first, second := filepath.Join(t.TempDir(), "dist"), filepath.Join(t.TempDir(), "dist")
	var both errgroup.Group
	both.Go(func() error { return buildClone(t.Context(), first) })
	both.Go(func() error { return buildClone(t.Context(), second) })
	if err := both.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Run("the same commit gives the same bytes", func(t *testing.T) {
		sums, err := os.ReadFile(filepath.Join(first, sumsFile))
		if err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(filepath.Join(second, sumsFile))
		if err != nil || string(sums) != string(again) || strings.Count(string(sums), "\n") != 6 {
			t.Errorf("found\n%sand %v\n%s", sums, err, again)
		}
		check := exec.Command("sha256sum", "--check", "--strict", sumsFile)
		check.Dir = first
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("sha256sum: %v\n%s", err, out)
		}
	})
	t.Run("archive", func(t *testing.T) { useArchive(t, first) })
	t.Run("functions", func(t *testing.T) { useFunctions(t, first) })
	t.Run("deb", func(t *testing.T) { readDeb(t, first) })
	t.Run("rpm", func(t *testing.T) { readRPM(t, first) })
	t.Run("service", func(t *testing.T) { bootService(t, first) })
	t.Run("image", func(t *testing.T) { useImage(t, first) })
}

// buildClone builds a release of the last commit into dist, from a new clone beside it.
func buildClone(ctx context.Context, dist string) error {
	clone := filepath.Join(filepath.Dir(dist), "clone")
	if out, err := exec.CommandContext(ctx, "git", "clone", "--quiet", "../..", clone).CombinedOutput(); err != nil {
		return fmt.Errorf("clone: %w\n%s", err, out)
	}
	return run(ctx, []string{"-root", clone, "-out", dist, "-platforms", "linux/" + runtime.GOARCH}, io.Discard)
}

// only returns the one file of the release whose name ends so.
func only(t *testing.T, dist, end string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, "*"+end))
	if err != nil || len(found) != 1 {
		t.Fatalf("found %q for *%s, %v", found, end, err)
	}
	return found[0]
}

// need skips a test that needs root or a program which this machine does not have.
func need(t *testing.T, root bool, programs ...string) {
	t.Helper()
	if root && os.Getuid() != 0 {
		t.Skip("this needs root")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("this machine has no %s", p)
		}
	}
}

// output runs a program and returns what it printed; a failure ends the test.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// maxProgram bounds the program of a release for linux/amd64, in bytes: each worker of a fleet is this program.
const maxProgram = 33 << 20

func useArchive(t *testing.T, dist string) {
	dir := t.TempDir()
	output(t, "tar", "-xzf", only(t, dist, ".tar.gz"), "-C", dir, "--strip-components=1")
	program := filepath.Join(dir, "muster")
	if info, err := os.Stat(program); err != nil {
		t.Fatal(err)
	} else if t.Logf("the program has %d bytes", info.Size()); runtime.GOARCH == "amd64" && info.Size() > maxProgram {
		t.Errorf("the program has %d bytes, at most %d are allowed; do without what came", info.Size(),
			maxProgram)
	}
	var said struct {
		Version, Commit string
		Modified        bool
	}
	if err := json.Unmarshal([]byte(output(t, program, "version", "-o", "json")), &said); err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSpace(output(t, "git", "rev-parse", "HEAD"))
	if said.Commit != head || said.Modified || !strings.Contains(dist+only(t, dist, ".tar.gz"), said.Version[1:]) {
		t.Errorf("the program says %+v, want commit %s and the version in the names of files", said, head)
	}
	bill := output(t, "cat", filepath.Join(dir, "muster.spdx.json"))
	for _, of := range []string{"pkg:golang/modernc.org/sqlite@", "pkg:npm/preact@", "pkg:npm/uplot@"} {
		if !strings.Contains(bill, of) {
			t.Errorf("the bill of materials has no %s", of)
		}
	}
	// The page of a program without the dashboard says so.
	if text, err := os.ReadFile(program); err != nil || !bytes.Contains(text, []byte("bundle/index.html.gz")) {
		t.Errorf("the program has no dashboard: %v", err)
	}
	output(t, program, "check", "-f", filepath.Join(dir, "muster.yaml"))
	output(t, "bash", "-n", filepath.Join(dir, "completions", "muster.bash"))
	if linked := output(t, "go", "version", "-m", program); !strings.Contains(linked, "CGO_ENABLED=0") {
		t.Errorf("the program is not static:\n%s", linked)
	}
}

// useFunctions unpacks the zip of the functions and starts its program, which works in Lambda only and says so.
func useFunctions(t *testing.T, dist string) {
	z, err := zip.OpenReader(only(t, dist, ".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	in, err := z.Open("bootstrap")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "bootstrap")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	start := exec.Command(program)
	start.Env = []string{"MUSTER_FUNCTION=send"}
	out, err := start.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "runs in AWS Lambda only") {
		t.Errorf("found %v\n%s", err, out)
	}
}

func readDeb(t *testing.T, dist string) {
	need(t, false, "dpkg-deb", "systemd-analyze")
	dir, file := t.TempDir(), only(t, dist, ".deb")
	output(t, "dpkg-deb", "--extract", file, dir)
	output(t, "dpkg-deb", "--control", file, filepath.Join(dir, "DEBIAN"))
	kept, err := os.ReadFile(filepath.Join(dir, "DEBIAN", "conffiles"))
	if err != nil || string(kept) != "/etc/muster/environment\n/etc/muster/muster.yaml\n" {
		t.Errorf("files that an upgrade keeps: found %q, %v", kept, err)
	}
	for name, want := range map[string]os.FileMode{"usr/bin/muster": 0o755, "etc/muster/muster.yaml": 0o644,
		"etc/muster/environment": 0o600, "usr/lib/systemd/system/muster.service": 0o644,
		"usr/share/doc/muster/copyright": 0o644, "usr/share/bash-completion/completions/muster": 0o644} {
		if f, err := os.Stat(filepath.Join(dir, name)); err != nil || f.Mode() != want {
			t.Errorf("%s: found %v, %v, want %v", name, f, err, want)
		}
	}
	// The fleet in the comments of the configuration is an example that works.
	text, err := os.ReadFile(filepath.Join(dir, "etc/muster/muster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, comments, _ := strings.Cut(string(text), "\n# fleets:\n")
	fleet := filepath.Join(dir, "fleet.yaml")
	uncommented := "version: 1\nfleets:\n" + strings.ReplaceAll("\n"+comments, "\n# ", "\n")
	if err := os.WriteFile(fleet, []byte(uncommented), 0o644); err != nil {
		t.Fatal(err)
	}
	said := output(t, filepath.Join(dir, "usr/bin/muster"), "check", "-f", fleet)
	if !strings.Contains(said, "1 fleet") {
		t.Errorf("the fleet of the comments: %s\n%s", said, uncommented)
	}
	output(t, "systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=20",
		filepath.Join(dir, "usr/lib/systemd/system/muster.service"))
}

func readRPM(t *testing.T, dist string) {
	need(t, false, "rpm")
	file := only(t, dist, ".rpm")
	output(t, "rpm", "--checksig", "--nosignature", file)
	if kept := output(t, "rpm", "-qp", "--configfiles", file); !strings.Contains(kept, "/etc/muster/muster.yaml\n") {
		t.Errorf("files that an upgrade keeps: found %q", kept)
	}
	scripts := output(t, "rpm", "-qp", "--scripts", file)
	for _, when := range []string{"preinstall", "postinstall", "preuninstall", "postuninstall"} {
		if !strings.Contains(scripts, when+" scriptlet (using /bin/sh):\n#!/bin/sh\n") {
			t.Errorf("no script for %s:\n%s", when, scripts)
		}
	}
}

// bootService installs the package on a copy of this machine, under a systemd of its own: see testdata/boot.sh.
func bootService(t *testing.T, dist string) {
	need(t, true, "dpkg", "systemd-nspawn", "unshare")
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	out, err := exec.CommandContext(ctx, "unshare", "--mount", "sh", "testdata/boot.sh", t.TempDir(),
		only(t, dist, ".deb")).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "\nok\n") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// useImage runs the program of the image as its user, in the image's own root.
func useImage(t *testing.T, dist string) {
	need(t, true)
	dir := t.TempDir()
	output(t, "tar", "-xf", only(t, dist, "_image.tar"), "-C", dir)
	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	image := onlyImage(t, path)
	root := t.TempDir()
	unpack(t, image, root)
	c, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	// The image's own configuration with free ports, because this test shares the machine's network.
	text, err := os.ReadFile(filepath.Join(root, "etc/muster/muster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	free := strings.NewReplacer("127.0.0.1:9324", freeAddress(t), "127.0.0.1:9325", freeAddress(t))
	if err := os.WriteFile(filepath.Join(root, "etc/muster/muster.yaml"), []byte(free.Replace(string(text))),
		0o644); err != nil {
		t.Fatal(err)
	}
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), c.Config.Entrypoint[0], args...)
		cmd.Dir, cmd.Env = c.Config.WorkingDir, c.Config.Env
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root,
			Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
		return cmd
	}
	up := inside(c.Config.Cmd...)
	var said strings.Builder
	up.Stdout, up.Stderr = &said, &said
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- up.Wait() }()
	queues := waitForQueues(t, inside, ended)
	if err := up.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("after %s: %v\n%s", c.Config.StopSignal, err, said.String())
	}
	if !strings.Contains(queues, "default") || strings.Contains(said.String(), "SECRET") {
		t.Errorf("found the queues %s, and printed\n%s", queues, said.String())
	}
}

// waitForQueues asks the running program for its queues until it answers, or has ended.
func waitForQueues(t *testing.T, inside func(...string) *exec.Cmd, ended chan error) string {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 300 {
		if out, err := inside("queue", "ls", "-f", "/etc/muster/muster.yaml").Output(); err == nil {
			return string(out)
		}
		select {
		case err := <-ended:
			t.Fatalf("the program ended: %v", err)
		case <-tick.C:
		}
	}
	t.Fatal("the program did not answer for 30 s")
	return ""
}

// onlyImage returns the image of this machine in a layout with one index of one image.
func onlyImage(t *testing.T, path layout.Path) v1.Image {
	t.Helper()
	all, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m, err := all.IndexManifest()
		if err != nil || len(m.Manifests) != 1 {
			t.Fatalf("found %+v, %v", m, err)
		}
		if m.Manifests[0].MediaType.IsImage() {
			image, err := all.Image(m.Manifests[0].Digest)
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
		if all, err = all.ImageIndex(m.Manifests[0].Digest); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the layout has no image")
	return nil
}

// unpack writes the files of an image, with their owners.
func unpack(t *testing.T, image v1.Image, root string) {
	t.Helper()
	in := mutate.Extract(image)
	defer in.Close()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			path := filepath.Join(root, h.Name)
			if h.Typeflag == tar.TypeDir {
				err = os.Mkdir(path, 0o700)
			} else {
				var text []byte
				if text, err = io.ReadAll(r); err == nil {
					err = os.WriteFile(path, text, 0o600)
				}
			}
			err = errors.Join(err, os.Chown(path, h.Uid, h.Gid), os.Chmod(path, h.FileInfo().Mode()))
		}
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", h.Name, err))
		}
	}
}

// freeAddress returns a loopback address on which nothing listened a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
