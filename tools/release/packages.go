package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// rpmArch has the names of processors in .rpm; those in .deb are Go's.
var rpmArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// summary is the first line of the description, which lists of packages show.
const summary = "Keeps the right number of workers on every queue"

// packageName returns the name of a package's file. It has the version as the tag writes it; inside the package it is
// written as the format sorts it, see [program.number].
func packageName(p program, format string) string {
	arch := p.arch
	if format == "rpm" {
		arch = rpmArch[arch]
	}
	return p.base() + "_" + arch + "." + format
}

// linuxPackage writes a .deb or .rpm. nfpm reads files from disk, so the texts are written beside the program first.
// The package is not signed: repositories sign, and the checksums of the release are.
func (s stage) linuxPackage(format string, w io.Writer) error {
	dir := filepath.Join(filepath.Dir(s.program.path), format)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	contents, err := s.contents(format, dir)
	if err != nil {
		return err
	}
	description := summary + "\n" +
		"Muster reads a queue, computes how many workers finish its messages within the\n" +
		"latency objective, and sizes the fleet: processes on this machine, or groups,\n" +
		"services and tasks on AWS. It brings an embedded queue that speaks SQS."
	of := &nfpm.Info{
		Name: "muster", Arch: s.program.arch, Platform: "linux", Version: s.program.number(), VersionSchema: "none",
		Release: "1", Section: "admin", Priority: "optional", Maintainer: "The Muster authors",
		Vendor: "The Muster authors", Homepage: "https://" + s.program.build.Main.Path, License: "Apache-2.0",
		Description: description, MTime: s.program.at, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents, Umask: 0o022},
	}
	// RPM would take the host's name otherwise, and two machines would not build the same bytes.
	of.RPM.BuildHost, of.RPM.Group, of.RPM.Summary = "muster", "System Environment/Daemons", summary
	of.Scripts = nfpm.Scripts{
		PreInstall: filepath.Join(dir, "preinstall.sh"), PostInstall: filepath.Join(dir, "postinstall.sh"),
		PreRemove: filepath.Join(dir, "preremove.sh"), PostRemove: filepath.Join(dir, "postremove.sh"),
	}
	// The program itself needs nothing of the machine. Both formats run useradd and getent before anything is unpacked.
	if format == "rpm" {
		of.Depends = []string{"shadow-utils", "glibc-common"}
		return rpm.DefaultRPM.Package(of, w)
	}
	of.Depends, of.Recommends = []string{"passwd", "libc-bin"}, []string{"systemd"}
	return deb.Default.Package(of, w)
}

// contents writes the files of a package into dir and returns their places on the machine. Directories of the data are
// not among them: systemd makes them with the right owner (StateDirectory), and a removal keeps them.
func (s stage) contents(format, dir string) (files.Contents, error) {
	all := files.Contents{{Source: s.program.path, Destination: "/usr/bin/muster", FileInfo: mode(0o755)}}
	add := func(name, destination, kind string, text []byte) error {
		source := filepath.Join(dir, name)
		all = append(all, &files.Content{Source: source, Destination: destination, Type: kind, FileInfo: mode(0o644)})
		return os.WriteFile(source, text, 0o644)
	}
	for _, name := range []string{"preinstall.sh", "postinstall.sh", "preremove.sh", "postremove.sh"} {
		text, err := texts.ReadFile("files/" + name)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			return nil, err
		}
	}
	unit, err := texts.ReadFile("files/muster.service")
	if err != nil {
		return nil, err
	}
	configuration, err := texts.ReadFile("files/muster.yaml")
	if err != nil {
		return nil, err
	}
	environment, err := texts.ReadFile("files/environment")
	if err != nil {
		return nil, err
	}
	// Debian keeps the folder of site-functions for the administrator.
	zsh := "/usr/share/zsh/vendor-completions/_muster"
	if format == "rpm" {
		zsh = "/usr/share/zsh/site-functions/_muster"
	}
	for _, f := range []struct {
		name, destination, kind string
		text                    []byte
	}{
		{"unit", "/usr/lib/systemd/system/muster.service", files.TypeFile, unit},
		// Both formats keep what the user has changed.
		{"configuration", "/etc/muster/muster.yaml", files.TypeConfigNoReplace, configuration},
		{"environment", "/etc/muster/environment", files.TypeConfigNoReplace, environment},
		{"bash", "/usr/share/bash-completion/completions/muster", files.TypeFile, s.completions["muster.bash"]},
		{"zsh", zsh, files.TypeFile, s.completions["_muster"]},
		{"fish", "/usr/share/fish/vendor_completions.d/muster.fish", files.TypeFile, s.completions["muster.fish"]},
		{"copyright", "/usr/share/doc/muster/copyright", files.TypeFile, s.copyright()},
		{"notices", "/usr/share/doc/muster/LICENSES-OF-MODULES.txt", files.TypeFile, s.notices},
		{"bill", "/usr/share/doc/muster/muster.spdx.json", files.TypeFile, s.bill},
		{"readme", "/usr/share/doc/muster/README.md", files.TypeFile, s.readme},
		{"changes", "/usr/share/doc/muster/CHANGELOG.md", files.TypeFile, s.changes},
	} {
		if err := add(f.name, f.destination, f.kind, f.text); err != nil {
			return nil, fmt.Errorf("%s: %w", f.destination, err)
		}
	}
	for _, c := range all {
		if c.Destination == "/etc/muster/environment" {
			c.FileInfo = mode(0o600) // for secrets; systemd reads it as root
		}
	}
	return all, nil
}

// mode returns the owner root and permissions.
func mode(permissions fs.FileMode) *files.ContentFileInfo {
	return &files.ContentFileInfo{Owner: "root", Group: "root", Mode: permissions}
}

// copyright returns the page that Debian asks for.
func (s stage) copyright() []byte {
	return append([]byte("Muster, https://"+s.program.build.Main.Path+"\nCopyright The Muster authors.\n"+
		"The licences of the modules that it links are in LICENSES-OF-MODULES.txt.\n\n"), s.licence...)
}
