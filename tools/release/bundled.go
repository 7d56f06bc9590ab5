package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// This file finds the packages of npm that the dashboard's pages contain. The linker records nothing of them, so they
// come from the lock file, by which the pages were built.

// lockFile is what the lock file of npm says of each installed package, by its directory.
type lockFile struct {
	Version  int `json:"lockfileVersion"`
	Packages map[string]struct {
		Version   string
		Integrity string
		License   string
		// Dev says that only the build needs the package, Optional and Peer that it need not be installed.
		Dev, Optional, Peer bool
	}
}

// bundled returns the packages in the dashboard's pages of a clone, by name, with their licences. It returns none where
// the pages were not built: the program then has none.
func bundled(root string) (all []licensed, err error) {
	if _, err := os.Stat(filepath.Join(root, "server/page/bundle/index.html.gz")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	path := filepath.Join(root, "ui/package-lock.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read which packages the dashboard has: %w", err)
	}
	var lock lockFile
	if err := json.Unmarshal(text, &lock); err != nil || lock.Version != 3 {
		return nil, fmt.Errorf("read which packages the dashboard has from %s: found version %d, %v; allowed is 3, "+
			"which npm 7 and newer write", path, lock.Version, err)
	}
	for dir, p := range lock.Packages {
		if dir == "" || p.Dev || p.Optional || p.Peer {
			continue
		}
		// A package within another one is below its directory.
		name := dir[strings.LastIndex(dir, "node_modules/")+len("node_modules/"):]
		l := licensed{module: &debug.Module{Path: name, Version: p.Version, Sum: p.Integrity}, npm: true, id: p.License}
		if l.id == "" {
			l.id = noAssertion
		}
		if l.texts, err = licenceFiles(filepath.Join(root, "ui", dir)); err != nil {
			return nil, fmt.Errorf("licences of %s in the dashboard: %w", name, err)
		}
		if len(l.texts) == 0 {
			return nil, fmt.Errorf("the package %s %s of the dashboard has no licence file in ui/%s; do without it, "+
				"or ask its authors", name, p.Version, dir)
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b licensed) int { return strings.Compare(a.module.Path, b.module.Path) })
	return all, nil
}
