package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdxlib"
)

// home is where the project is published.
const home = "https://github.com/nxvk/nxvk"

// noAssertion is SPDX's word for what is not said.
const noAssertion = "NOASSERTION"

// describe makes the bill of materials of a node in SPDX 2.3: the program with its sum, and
// the modules that it is linked with.
func describe(b *bundle, deps []dependency) ([]byte, error) {
	program, err := os.ReadFile(b.node)
	if err != nil {
		return nil, err
	}
	node := &spdx.Package{
		PackageName: "nxvk-node", PackageSPDXIdentifier: "Package-nxvk-node", PackageVersion: b.version,
		PackageFileName: b.target.binary(), PackageDownloadLocation: b.url(), PackageHomePage: home,
		PackageLicenseConcluded: "Apache-2.0", PackageLicenseDeclared: "Apache-2.0", PackageCopyrightText: noAssertion,
		PackageChecksums:      []common.Checksum{{Algorithm: common.SHA256, Value: fmt.Sprintf("%x", sha256.Sum256(program))}},
		PrimaryPackagePurpose: "APPLICATION",
	}
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: b.base(), DocumentNamespace: b.url() + ".sbom.json",
		CreationInfo: &spdx.CreationInfo{
			Created:  b.epoch.Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "nxvk/packaging/release"}},
		},
		Packages:      []*spdx.Package{node},
		Relationships: []*spdx.Relationship{relate("DOCUMENT", common.TypeRelationshipDescribe, node.PackageSPDXIdentifier)},
	}
	for _, d := range deps {
		p := describeDependency(d)
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships,
			relate(node.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, p.PackageSPDXIdentifier))
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = spdxjson.Write(doc, &out, spdxjson.Indent("  "))
	return out.Bytes(), err
}

// outsideID matches what an identifier of SPDX cannot have.
var outsideID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

var capital = regexp.MustCompile(`[A-Z]`)

func describeDependency(d dependency) *spdx.Package {
	// The proxy writes a capital letter as an exclamation mark and the small letter.
	escaped := capital.ReplaceAllStringFunc(d.path, func(c string) string { return "!" + strings.ToLower(c) })
	from := "https://proxy.golang.org/" + escaped + "/@v/" + d.version + ".zip"
	if d.path == "std" {
		from = "https://go.dev/dl/go" + d.version + ".src.tar.gz"
	}
	return &spdx.Package{
		PackageName: d.path, PackageSPDXIdentifier: common.ElementID("Package-" + outsideID.ReplaceAllString(d.path, "-")),
		PackageVersion: d.version, PackageDownloadLocation: from,
		PackageLicenseConcluded: d.licence, PackageLicenseDeclared: d.licence, PackageCopyrightText: noAssertion,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL,
			Locator: "pkg:golang/" + d.path + "@" + d.version,
		}},
		PrimaryPackagePurpose: "LIBRARY",
	}
}

func relate(from common.ElementID, how string, to common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: how}
}
