package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// licensed is a linked module, or a package of npm in the dashboard, with its licence files.
type licensed struct {
	module *debug.Module
	// npm tells that module names a package of npm, and its Sum the hash of the lock file.
	npm bool
	// id is an SPDX expression of the licences whose text was recognised in the module's own licence file, or which a
	// package states; NOASSERTION where none was. It is what the files tell, and no legal judgement.
	id string
	// texts are the licence files, by name.
	texts []licenceFile
}

// licenceFile is the name and the content of a licence file.
type licenceFile struct{ name, text string }

// noAssertion is the word of SPDX for what is not known.
const noAssertion = "NOASSERTION"

// phrases recognise a licence. All parts of a row occur in its text, whatever its line breaks and case. A row stands
// before the rows whose phrases it contains too: the longer BSD licence has the words of the shorter one.
var phrases = []struct {
	id    string
	parts []string
}{
	{"Apache-2.0", []string{"apache license", "version 2.0, january 2004"}},
	{"MPL-2.0", []string{"mozilla public license", "version 2.0"}},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy"}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "endorse or promote products"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
}

// moduleDirs returns the directories with the sources of all modules, by path@version.
func moduleDirs(ctx context.Context, root string) (map[string]string, error) {
	const format = "{{.Path}}@{{.Version}}\t{{.Dir}}"
	list := exec.CommandContext(ctx, "go", "list", "-mod=readonly", "-m", "-f", format, "all")
	list.Dir = root
	list.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all[name] = dir
	}
	// The directory of a module that was not downloaded is empty. Linked modules have one: they were just compiled.
	// The standard library is linked too, and its licence asks for the same notice.
	goRoot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the standard library: %w", err)
	}
	all["std"] = strings.TrimSpace(string(goRoot))
	return all, nil
}

// licences returns the standard library and every module that the program links, with their licences, by path. A module
// without a licence file is an error: the program must not be given to others with it.
func licences(recorded *debug.BuildInfo, dirs map[string]string) (all []licensed, err error) {
	std := &debug.Module{Path: "std", Version: recorded.GoVersion}
	for _, m := range append([]*debug.Module{std}, recorded.Deps...) {
		if m.Replace != nil {
			return nil, fmt.Errorf("module %s is replaced by %s; a release links published modules", m.Path,
				m.Replace.Path)
		}
		dir := dirs[m.Path+"@"+m.Version]
		if m == std {
			dir = dirs["std"]
		}
		l := licensed{module: m}
		if l.texts, err = licenceFiles(dir); err != nil {
			return nil, fmt.Errorf("licences of %s: %w", m.Path, err)
		}
		if len(l.texts) == 0 {
			return nil, fmt.Errorf("module %s %s has no licence file in %q; do without it, or ask its authors", m.Path,
				m.Version, dir)
		}
		l.id = licenceID(l.texts[0].text)
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b licensed) int { return strings.Compare(a.module.Path, b.module.Path) })
	return all, nil
}

// licenceFiles reads the licences and notices in the root of a module, its own licence first.
func licenceFiles(dir string) (all []licenceFile, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") &&
			!strings.HasPrefix(name, "NOTICE") && !strings.HasPrefix(name, "PATENTS") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, licenceFile{e.Name(), string(text)})
	}
	return all, nil // ReadDir sorts: LICENSE comes before LICENSE-OTHER and NOTICE
}

// licenceID returns the licences whose phrases a text has, joined by AND: a file with two licences usually covers parts
// of the module by each.
func licenceID(text string) string {
	words := strings.ToLower(strings.Join(strings.Fields(text), " "))
	var found []string
	for _, row := range phrases {
		known := !slices.ContainsFunc(row.parts, func(part string) bool { return !strings.Contains(words, part) })
		shorter := row.id == "BSD-2-Clause" && slices.Contains(found, "BSD-3-Clause")
		if known && !shorter {
			found = append(found, row.id)
		}
	}
	if len(found) == 0 {
		return noAssertion
	}
	return strings.Join(found, " AND ")
}

// notices returns the page with the licences of everything that is linked or in the dashboard, which most of them
// require.
func notices(all []licensed) []byte {
	var page strings.Builder
	page.WriteString("Muster has these modules, and in its dashboard packages of npm. Their licences follow.\n\n")
	for _, l := range all {
		fmt.Fprintf(&page, "%s %s: %s\n", l.module.Path, l.module.Version, l.id)
	}
	for _, l := range all {
		for _, f := range l.texts {
			fmt.Fprintf(&page, "\n%s\n%s %s, %s\n\n%s\n", strings.Repeat("=", 72), l.module.Path, l.module.Version,
				f.name, strings.TrimSpace(strings.ReplaceAll(f.text, "\r\n", "\n")))
		}
	}
	return []byte(page.String())
}
