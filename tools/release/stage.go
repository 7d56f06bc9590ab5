package main

import (
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// texts are the files of the packages that are not built: the unit, the configuration and the scripts.
//
//go:embed files
var texts embed.FS

// stage is everything that is installed for one platform.
type stage struct {
	// program is the built program and what it records.
	program program
	// completions are the completion files by their names in an archive.
	completions map[string][]byte
	// bill is the bill of materials, notices the licences of the linked modules.
	bill, notices []byte
	// licence, readme, changes and starter are files of the project: its licence, its README, its changelog, and the
	// configuration that muster init writes.
	licence, readme, changes, starter []byte
}

// newStage collects the files of one platform. sources are the directories of [moduleDirs]. Licences and the bill
// differ between platforms, because not every module is linked on each.
func newStage(root string, p program, completions map[string][]byte, sources map[string]string) (stage, error) {
	s := stage{program: p, completions: completions}
	for name, text := range map[string]*[]byte{"LICENSE": &s.licence, "README.md": &s.readme,
		"CHANGELOG.md": &s.changes, "cmd/muster/starter.yaml": &s.starter} {
		var err error
		if *text, err = os.ReadFile(filepath.Join(root, name)); err != nil {
			return stage{}, fmt.Errorf("collect the files of a release: %w", err)
		}
	}
	linked, err := licences(p.build, sources)
	if err != nil {
		return stage{}, err
	}
	pages, err := bundled(root)
	if err != nil {
		return stage{}, err
	}
	linked = append(linked, pages...)
	s.notices = notices(linked)
	sum, err := sumOf(p.path)
	if err != nil {
		return stage{}, err
	}
	s.bill, err = billOfMaterials(p, hex.EncodeToString(sum), linked)
	return s, err
}
