package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is the user of the image. It is no user of common distributions, and the one that others use for this.
const imageUser = 65532

// writeImage writes the images of all platforms as one OCI layout in a tar. dir is a new directory for the layout.
//
// The layout has one entry, an index, which has an image for each platform. Tools that copy a layout refuse one with
// several entries, because they cannot know which is meant.
func writeImage(w io.Writer, stages []stage, dir string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, s := range stages {
		image, err := s.image()
		if err != nil {
			return err
		}
		// The descriptor must say the platform: by it a machine finds its image in the index.
		d, err := partial.Descriptor(image)
		if err != nil {
			return err
		}
		d.Platform = &v1.Platform{OS: s.program.os, Architecture: s.program.arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: *d})
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// All programs are of the same version and commit.
	p := stages[0].program
	// One name for all platforms; tools that read archives choose the image by it.
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": strings.TrimPrefix(p.version, "v"),
	})); err != nil {
		return err
	}
	all, err := layoutEntries(dir)
	if err != nil {
		return err
	}
	return writeTar(w, all, p.at)
}

// image returns the image of one platform: one layer, whose files belong to root, except for the data.
func (s stage) image() (v1.Image, error) {
	all, err := s.imageEntries()
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	if err := writeTar(&files, all, s.program.at); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(6))
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: s.program.at}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{
		Created: created, CreatedBy: "muster release", Comment: "the static program and what it reads",
	}})
	if err != nil {
		return nil, err
	}
	home := "https://" + s.program.build.Main.Path
	return mutate.ConfigFile(image, s.config(image, created, home))
}

// config returns the configuration of an image. The user is a number, so that a cluster which forbids root can check
// it. The signal that stops a container lets workers finish. The keys of the queue are not printed, because the output
// of containers is stored.
func (s stage) config(image v1.Image, created v1.Time, home string) *v1.ConfigFile {
	c := &v1.ConfigFile{Architecture: s.program.arch, OS: s.program.os, Created: created,
		Config: v1.Config{
			User: fmt.Sprintf("%d:%d", imageUser, imageUser), Entrypoint: []string{"/usr/bin/muster"},
			Cmd:        []string{"up", "--hide-keys", "-f", "/etc/muster/muster.yaml"},
			WorkingDir: "/var/lib/muster", StopSignal: "SIGTERM",
			Env:     []string{"PATH=/usr/bin", "HOME=/var/lib/muster"},
			Volumes: map[string]struct{}{"/var/lib/muster": {}},
			Labels: map[string]string{
				"org.opencontainers.image.title": "Muster", "org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.version":  strings.TrimPrefix(s.program.version, "v"),
				"org.opencontainers.image.revision": s.program.commit, "org.opencontainers.image.source": home,
			},
		}}
	// The layers were listed when they were added; without them the image would be refused.
	if old, err := image.ConfigFile(); err == nil {
		c.RootFS, c.History = old.RootFS, old.History
	}
	return c
}

// imageEntries returns the files of the image. There is no shell and no C library: the program needs none. Time zones
// are in the program; certificates are not, so they are here.
func (s stage) imageEntries() ([]entry, error) {
	text, err := os.ReadFile(s.program.path)
	if err != nil {
		return nil, err
	}
	configuration, err := texts.ReadFile("files/muster.yaml")
	if err != nil {
		return nil, err
	}
	certificates, err := rootCertificates()
	if err != nil {
		return nil, err
	}
	user := fmt.Sprintf("%d:%d", imageUser, imageUser)
	passwd := "root:x:0:0:root:/:/sbin/nologin\nmuster:x:" + user + ":Muster:/var/lib/muster:/sbin/nologin\n"
	group := fmt.Sprintf("root:x:0:\nmuster:x:%d:\n", imageUser)
	doc := "usr/share/doc/muster/"
	all := []entry{
		{name: "etc/", mode: 0o755}, {name: "etc/group", mode: 0o644, text: []byte(group)},
		{name: "etc/muster/", mode: 0o755}, {name: "etc/muster/muster.yaml", mode: 0o644, text: configuration},
		{name: "etc/passwd", mode: 0o644, text: []byte(passwd)},
		{name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: certificates},
		// Commands of images that are built on this one expect it.
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755}, {name: "usr/bin/", mode: 0o755}, {name: "usr/bin/muster", mode: 0o755, text: text},
		{name: "usr/share/", mode: 0o755}, {name: "usr/share/doc/", mode: 0o755}, {name: doc, mode: 0o755},
		{name: doc + "LICENSE", mode: 0o644, text: s.licence},
		{name: doc + "LICENSES-OF-MODULES.txt", mode: 0o644, text: s.notices},
		{name: doc + "muster.spdx.json", mode: 0o644, text: s.bill},
		{name: "var/", mode: 0o755}, {name: "var/lib/", mode: 0o755},
		// A new volume takes owner and permissions from here.
		{name: "var/lib/muster/", mode: 0o700, uid: imageUser},
	}
	return all, nil
}

// rootCertificates returns the certificate authorities of Mozilla as PEM, sorted as the module has them. An authority
// that Mozilla trusts only in part, for example until a date, cannot be written so, and is left out.
func rootCertificates() ([]byte, error) {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, fmt.Errorf("a root certificate: %w", err)
		}
		fmt.Fprintf(&all, "# %s\n", c.Subject)
		if err := pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return all.Bytes(), nil
}

// layoutEntries reads a layout from disk, sorted by path. The whole of it is in memory: 12 MB for each platform.
func layoutEntries(dir string) (all []entry, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		e := entry{name: filepath.ToSlash(name), mode: 0o644}
		if d.IsDir() {
			e.name, e.mode = e.name+"/", 0o755
		} else if e.text, err = os.ReadFile(path); err != nil {
			return err
		}
		all = append(all, e)
		return nil
	})
	return all, err
}
