package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// This file writes the bill of materials in SPDX 2.3: the program, the standard library, each linked module, and each
// package of npm in the dashboard, with versions, licences and package URLs, by which scanners find known
// vulnerabilities. The linker recorded the modules, so the bill lists what is in the file, and not what a go.mod
// allows.

// spdxDocument is the whole bill. The names of fields are those of the standard.
type spdxDocument struct {
	Version       string             `json:"spdxVersion"`
	License       string             `json:"dataLicense"`
	ID            string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Creation      spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
}

// spdxCreation says when and by what the bill was written.
type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// spdxPackage is the program or a module. The standard demands most fields, and NOASSERTION where nothing is known.
// Declared is what the licence files say, Concluded what a person found, which only the program's own has.
type spdxPackage struct {
	Name          string          `json:"name"`
	ID            string          `json:"SPDXID"`
	Version       string          `json:"versionInfo"`
	Supplier      string          `json:"supplier"`
	Download      string          `json:"downloadLocation"`
	FilesAnalyzed bool            `json:"filesAnalyzed"`
	Purpose       string          `json:"primaryPackagePurpose"`
	Checksums     []spdxChecksum  `json:"checksums,omitempty"`
	Concluded     string          `json:"licenseConcluded"`
	Declared      string          `json:"licenseDeclared"`
	Copyright     string          `json:"copyrightText"`
	Source        string          `json:"sourceInfo,omitempty"`
	References    []spdxReference `json:"externalRefs,omitempty"`
}

// spdxChecksum is the hash of a file, in hexadecimal.
type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

// spdxReference is a package URL.
type spdxReference struct {
	Category string `json:"referenceCategory"`
	Kind     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

// spdxRelationship says that one element describes or depends on another.
type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Kind    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// programID is the SPDX id of the program in its bill.
const programID = "SPDXRef-muster"

// billOfMaterials returns the bill of a program as JSON. sum is the SHA-256 of the program's file in hexadecimal.
func billOfMaterials(p program, sum string, linked []licensed) ([]byte, error) {
	name := fmt.Sprintf("muster-%s-%s-%s", p.version, p.os, p.arch)
	bill := spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		// The namespace must differ for each document. The sum of the program makes it so.
		Namespace: "https://" + p.build.Main.Path + "/spdx/" + name + "-" + sum,
		Creation: spdxCreation{
			Created:  p.at.Format(time.RFC3339),
			Creators: []string{"Organization: The Muster authors", "Tool: muster-release-" + p.version},
		},
		Packages: []spdxPackage{{
			Name: p.build.Main.Path, ID: programID, Version: p.version, Supplier: "Organization: The Muster authors",
			Download: "git+https://" + p.build.Main.Path + "@" + p.commit, Purpose: "APPLICATION",
			Checksums: []spdxChecksum{{"SHA256", sum}},
			Concluded: "Apache-2.0", Declared: "Apache-2.0", Copyright: noAssertion,
			References: packageURL(p.build.Main.Path, p.version),
		}},
		Relationships: []spdxRelationship{{"SPDXRef-DOCUMENT", "DESCRIBES", programID}},
	}
	for i, l := range linked {
		m := spdxPackage{
			Name: l.module.Path, ID: fmt.Sprintf("SPDXRef-module-%d", i+1), Version: l.module.Version,
			Supplier: noAssertion, Download: noAssertion, Purpose: "LIBRARY",
			Concluded: noAssertion, Declared: l.id, Copyright: noAssertion,
			References: packageURL(l.module.Path, l.module.Version),
		}
		switch {
		case l.npm:
			m.Source = "package-lock.json: " + l.module.Sum
			m.References[0].Locator = "pkg:npm/" + strings.Replace(l.module.Path, "@", "%40", 1) + "@" + m.Version
		case l.module.Sum != "":
			// It is the hash of a module's file names and contents, which no algorithm of the standard is.
			m.Source = "go.sum: " + l.module.Sum
		case l.module.Path == "std":
			// Scanners know the standard library by the version without the word go.
			m.Version = strings.TrimPrefix(l.module.Version, "go")
			m.References = packageURL("stdlib", m.Version)
		}
		bill.Packages = append(bill.Packages, m)
		bill.Relationships = append(bill.Relationships, spdxRelationship{programID, "DEPENDS_ON", m.ID})
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(bill); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// packageURL returns the reference by which scanners know a module.
func packageURL(path, version string) []spdxReference {
	return []spdxReference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}}
}
