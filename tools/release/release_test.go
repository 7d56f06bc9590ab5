package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// noon is the time of the commit in these tests.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// standIn is a stage whose program is a few bytes, in a directory of its own.
func standIn(t *testing.T, p platform) stage {
	t.Helper()
	path := filepath.Join(t.TempDir(), "muster")
	if err := os.WriteFile(path, []byte("program for "+p.String()), 0o755); err != nil {
		t.Fatal(err)
	}
	build := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "github.com/muster-scale/muster"}}
	return stage{
		program: program{platform: p, path: path, version: "v1.2.0", commit: "abc", at: noon, build: build},
		completions: map[string][]byte{"muster.bash": []byte("b"), "_muster": []byte("z"),
			"muster.fish": []byte("f")},
		bill: []byte("{}\n"), notices: []byte("notices"), licence: []byte("licence"), readme: []byte("readme"),
		changes: []byte("changes"), starter: []byte("version: 1\n"),
	}
}

func TestAPlatformIsOneOfARelease(t *testing.T) {
	got, err := parsePlatforms("linux/arm64,darwin/amd64")
	if err != nil || len(got) != 2 || got[0].String() != "linux/arm64" {
		t.Errorf("found %v, %v", got, err)
	}
	for _, list := range []string{"", "linux", "windows/amd64", "linux/amd64,linux/amd64"} {
		if _, err := parsePlatforms(list); err == nil || !strings.Contains(err.Error(), "-platforms: found") {
			t.Errorf("%q: found %v, want an error that says what was found", list, err)
		}
	}
}

func TestAPackageOfAnEarlyVersionSortsBeforeTheRelease(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.0":                               "1.2.0",
		"v1.2.0-rc.1":                          "1.2.0~rc.1",
		"v0.0.0-20260301120000-0123456789ab":   "0.0.0~20260301120000.0123456789ab",
		"v1.2.1-0.20260301120000-0123456789ab": "1.2.1~0.20260301120000.0123456789ab",
	} {
		if got := (program{version: version}).number(); got != want {
			t.Errorf("%s: found %s, want %s", version, got, want)
		}
	}
}

func TestAProgramSaysItsVersionCommitAndTime(t *testing.T) {
	recorded := func(version, commit, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: "2026-03-01T13:00:00+01:00"},
			{Key: "vcs.modified", Value: modified}}}
	}
	p, err := readProgram(platform{}, "", recorded("v1.2.0", "abc", "false"))
	if err != nil || p.version != "v1.2.0" || p.commit != "abc" || !p.at.Equal(noon) || p.dirty {
		t.Errorf("found %+v, %v", p, err)
	}
	if p, err = readProgram(platform{}, "", recorded("v1.2.0+dirty", "abc", "true")); err != nil || !p.dirty ||
		p.version != "v1.2.0" {
		t.Errorf("with changes: found %+v, %v", p, err)
	}
	for _, b := range []*debug.BuildInfo{{}, recorded("(devel)", "abc", "false"), recorded("v1.2.0", "", "false")} {
		if _, err := readProgram(platform{}, "", b); err == nil || !strings.Contains(err.Error(), "made by git") {
			t.Errorf("%+v: found %v, want an error that says what to do", b.Main, err)
		}
	}
}

func TestOnlyFilesOfAnEarlierRunAreRemoved(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a.tar.gz", "a")
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	if err := clear(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v of an earlier run", left)
	}
	put("thesis.txt", "mine")
	if err := clear(dir); err == nil || !strings.Contains(err.Error(), "thesis.txt") {
		t.Errorf("found %v, want a refusal that names the file", err)
	}
	outside := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	put(sumsFile, strings.Repeat("0", 64)+"  ../"+filepath.Base(filepath.Dir(outside))+"/x\n")
	if err := clear(dir); err == nil {
		t.Error("a name in another directory was taken")
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

func TestChecksumsAreThoseOfSHA256(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "abc"), []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	// The first example of FIPS 180-2.
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  abc\n"
	if got, err := os.ReadFile(filepath.Join(dir, sumsFile)); err != nil || string(got) != want {
		t.Errorf("found %q, %v, want %q", got, err, want)
	}
}

func TestALicenceIsKnownByItsWords(t *testing.T) {
	bsd2 := "Redistribution and use in source\nand binary forms, with or without modification"
	mit := "Permission is hereby granted, free of charge, to any person obtaining a copy"
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0, January 2004": "Apache-2.0",
		bsd2: "BSD-2-Clause",
		bsd2 + " nor the names may be used to\nendorse or promote products": "BSD-3-Clause",
		mit + "\n\n" + bsd2:   "MIT AND BSD-2-Clause",
		"All rights reserved": noAssertion,
	} {
		if got := licenceID(text); got != want {
			t.Errorf("%q: found %s, want %s", text, got, want)
		}
	}
}

func TestALinkedModuleWithoutALicenceEndsTheRelease(t *testing.T) {
	dirs := map[string]string{"std": t.TempDir(), "example.com/m@v1.0.0": t.TempDir()}
	if err := os.WriteFile(filepath.Join(dirs["std"], "LICENSE"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := &debug.Module{Path: "example.com/m", Version: "v1.0.0"}
	b := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{m}}
	const want = "example.com/m v1.0.0 has no licence"
	if _, err := licences(b, dirs); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("found %v", err)
	}
	if err := os.WriteFile(filepath.Join(dirs["example.com/m@v1.0.0"], "COPYING"), []byte("y"), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := licences(b, dirs)
	if err != nil || len(all) != 2 || !strings.Contains(string(notices(all)), "example.com/m v1.0.0, COPYING\n\ny\n") {
		t.Errorf("found %+v, %v", all, err)
	}
	m.Replace = &debug.Module{Path: "../m"}
	if _, err := licences(b, dirs); err == nil || !strings.Contains(err.Error(), "replaced by ../m") {
		t.Errorf("a replaced module: found %v", err)
	}
}

func TestTheBillNamesTheProgramAndEveryModule(t *testing.T) {
	s := standIn(t, platform{"linux", "amd64"})
	linked := []licensed{
		{module: &debug.Module{Path: "example.com/m", Version: "v1.0.0", Sum: "h1:x"}, id: "MIT"},
		{module: &debug.Module{Path: "std", Version: "go1.26.8"}, id: "BSD-3-Clause"},
	}
	text, err := billOfMaterials(s.program, "00ff", linked)
	if err != nil {
		t.Fatal(err)
	}
	var bill spdxDocument
	if err := json.Unmarshal(text, &bill); err != nil {
		t.Fatal(err)
	}
	var urls []string
	depends := map[string]bool{}
	for _, r := range bill.Relationships {
		depends[r.Related] = true
	}
	for _, p := range bill.Packages {
		urls = append(urls, p.References[0].Locator)
		if !depends[p.ID] {
			t.Errorf("nothing refers to %s", p.Name)
		}
	}
	want := "pkg:golang/github.com/muster-scale/muster@v1.2.0 pkg:golang/example.com/m@v1.0.0 pkg:golang/stdlib@1.26.8"
	if got := strings.Join(urls, " "); got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if bill.Creation.Created != "2026-03-01T12:00:00Z" || !strings.HasSuffix(bill.Namespace, "linux-amd64-00ff") ||
		bill.Packages[1].Declared != "MIT" {
		t.Errorf("found %+v", bill)
	}
}

// TestTheBillNamesThePackagesOfTheDashboard holds that what the linker does not see is in the bill and in the notices.
func TestTheBillNamesThePackagesOfTheDashboard(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	if all, err := bundled(root); err != nil || len(all) != 0 {
		t.Errorf("without pages: found %+v, %v", all, err)
	}
	put("server/page/bundle/index.html.gz", "")
	put("ui/package-lock.json", `{"lockfileVersion": 3, "packages": {"": {"version": "0"},
		"node_modules/view": {"version": "1.0.0", "integrity": "sha512-x", "license": "MIT"},
		"node_modules/view/node_modules/@a/b": {"version": "2.0.0", "license": "ISC"},
		"node_modules/compiler": {"version": "3.0.0", "dev": true}}}`)
	put("ui/node_modules/view/LICENSE", "may be used")
	if _, err := bundled(root); err == nil || !strings.Contains(err.Error(), "licences of @a/b in the dashboard") {
		t.Errorf("a package without its files: found %v", err)
	}
	put("ui/node_modules/view/node_modules/@a/b/README", "")
	const none = "@a/b 2.0.0 of the dashboard has no licence"
	if _, err := bundled(root); err == nil || !strings.Contains(err.Error(), none) {
		t.Errorf("a package without a licence: found %v", err)
	}
	put("ui/node_modules/view/node_modules/@a/b/LICENSE", "too")
	all, err := bundled(root)
	if err != nil {
		t.Fatal(err)
	}
	bill, err := billOfMaterials(standIn(t, platform{"linux", "amd64"}).program, "00ff", all)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"pkg:npm/view@1.0.0"`, `"pkg:npm/%40a/b@2.0.0"`, `"package-lock.json: sha512-x"`} {
		if !strings.Contains(string(bill), want) {
			t.Errorf("the bill has no %s:\n%s", want, bill)
		}
	}
	page := string(notices(all))
	if strings.Contains(page, "compiler") || !strings.Contains(page, "view 1.0.0, LICENSE") {
		t.Errorf("found the notices %s", page)
	}
	put("ui/package-lock.json", `{"lockfileVersion": 1}`)
	if _, err := bundled(root); err == nil || !strings.Contains(err.Error(), "found version 1") {
		t.Errorf("another lock file: found %v", err)
	}
}

// TestTheSameFilesGiveTheSameBytes writes each format twice, from two directories and with other times of the files.
func TestTheSameFilesGiveTheSameBytes(t *testing.T) {
	formats := map[string]func(stage, io.Writer) error{
		"tar.gz": stage.archive,
		"deb":    func(s stage, w io.Writer) error { return s.linuxPackage("deb", w) },
		"rpm":    func(s stage, w io.Writer) error { return s.linuxPackage("rpm", w) },
		"image": func(s stage, w io.Writer) error {
			return writeImage(w, []stage{s}, filepath.Join(filepath.Dir(s.program.path), "layout"))
		},
	}
	for name, write := range formats {
		var both [2]bytes.Buffer
		for i := range both {
			s := standIn(t, platform{"linux", "amd64"})
			at := noon.Add(time.Duration(i) * time.Hour)
			if err := os.Chtimes(s.program.path, at, at); err != nil {
				t.Fatal(err)
			}
			if err := write(s, &both[i]); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if both[0].Len() < 300 || !bytes.Equal(both[0].Bytes(), both[1].Bytes()) {
			t.Errorf("%s: two runs wrote %d and %d bytes that differ", name, both[0].Len(), both[1].Len())
		}
	}
}

func TestTheImageHasOneIndexWithAllPlatforms(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	stages := []stage{standIn(t, platform{"linux", "amd64"}), standIn(t, platform{"linux", "arm64"})}
	if err := writeImage(io.Discard, stages, dir); err != nil {
		t.Fatal(err)
	}
	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	// This reads every blob, and checks each digest and each size.
	if err := validate.Index(all); err != nil {
		t.Error(err)
	}
	top, err := all.IndexManifest()
	if err != nil || len(top.Manifests) != 1 {
		t.Fatalf("the layout has %+v, %v, want one index", top, err)
	}
	index, err := all.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.IndexManifest()
	if err != nil || len(m.Manifests) != 2 {
		t.Fatalf("the index has %+v, %v, want two images", m, err)
	}
	for i, want := range stages {
		image, err := index.Image(m.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		c, err := image.ConfigFile()
		if err != nil || m.Manifests[i].Platform.Architecture != want.program.arch ||
			c.Architecture != want.program.arch || c.Config.User != "65532:65532" {
			t.Errorf("image %d: found %+v, %v", i, c, err)
		}
	}
}

func TestTheImageTrustsPublicAuthorities(t *testing.T) {
	text, err := rootCertificates()
	if err != nil {
		t.Fatal(err)
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(text) || bytes.Count(text, []byte("BEGIN CERT")) < 100 {
		t.Errorf("found %d certificates", bytes.Count(text, []byte("BEGIN CERT")))
	}
	// Endpoints of AWS have certificates of this authority.
	if !bytes.Contains(text, []byte("Amazon Root CA 1")) {
		t.Error("Amazon's authority is missing")
	}
}

// TestTheUnitIsClosedAndKillsNoWorker holds the lines on which the promises of a service rest, where no systemd can.
func TestTheUnitIsClosedAndKillsNoWorker(t *testing.T) {
	unit, err := texts.ReadFile("files/muster.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"User=muster", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectHome=yes",
		"StateDirectory=muster", "StateDirectoryMode=0700", "UMask=0077",
		"KillMode=process",     // else a stop signals workers twice, which ends them at once
		"OOMPolicy=continue",   // else one command out of memory stops every worker
		"Restart=on-failure",   // else surviving workers are never adopted
		"TimeoutStopSec=15min", // the scripts and the pages say so
	} {
		if !strings.Contains(string(unit), "\n"+line+"\n") {
			t.Errorf("the unit has no line %s", line)
		}
	}
	for _, line := range []string{"PrivateTmp=yes", "MemoryDenyWriteExecute=yes", "KillMode=mixed"} {
		if strings.Contains(string(unit), line) {
			t.Errorf("the unit has the line %s, which harms workers", line)
		}
	}
	if !strings.Contains(string(unit), " --hide-keys ") {
		t.Error("the journal would have the keys of the queue")
	}
}
