package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeDebian writes a package for Debian and Ubuntu with dpkg-deb, of the same program as
// the archive.
func writeDebian(root, out string, b *bundle) error {
	stage, err := os.MkdirTemp("", "nxvk-debian-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	size := 0
	for _, f := range b.files {
		name, ok := debianName(f.name)
		if !ok {
			continue
		}
		size += len(f.data)
		if err := install(filepath.Join(stage, name), f.data, f.mode); err != nil {
			return err
		}
	}
	control, err := os.ReadFile(filepath.Join(root, "packaging/debian/control"))
	if err != nil {
		return err
	}
	control = []byte(strings.NewReplacer(
		"@VERSION@", debianVersion(b.version), "@ARCH@", b.target.debian, "@SIZE@", fmt.Sprint((size+1023)/1024), "@GLIBC@", glibc,
	).Replace(string(control)))
	if err := install(filepath.Join(stage, "DEBIAN/control"), control, 0o644); err != nil {
		return err
	}
	for name, mode := range map[string]os.FileMode{"conffiles": 0o644, "postinst": 0o755, "prerm": 0o755, "postrm": 0o755} {
		text, err := os.ReadFile(filepath.Join(root, "packaging/debian", name))
		if err == nil {
			err = install(filepath.Join(stage, "DEBIAN", name), text, mode)
		}
		if err != nil {
			return err
		}
	}
	copyright, err := os.ReadFile(filepath.Join(root, "packaging/debian/copyright"))
	if err == nil {
		err = install(filepath.Join(stage, "usr/share/doc/nxvk-node/copyright"), copyright, 0o644)
	}
	if err != nil {
		return err
	}
	if err := openFolders(stage); err != nil {
		return err
	}
	_, err = output(root, append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", b.epoch.Unix())),
		"dpkg-deb", "--build", "--root-owner-group", "-Zxz", stage, out)
	return err
}

// debianName is where a file of the archive lies in the package, if it does.
func debianName(name string) (string, bool) {
	switch {
	case name == "nxvk-node":
		return "usr/bin/nxvk-node", true
	case name == "systemd/nxvk-node.service":
		return "usr/lib/systemd/system/nxvk-node.service", true
	case name == "systemd/nxvk-node.default":
		return "etc/default/nxvk-node", true
	case name == "LICENSE":
		return "", false // named by the file copyright
	}
	return filepath.Join("usr/share/doc/nxvk-node", name), true
}

// debianVersion sorts a pre-release before its release, as dpkg compares them.
func debianVersion(v string) string { return strings.Replace(v, "-", "~", 1) }

// install writes a file whose mode does not depend on the umask.
func install(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, data, mode), os.Chmod(path, mode))
}

// openFolders lets every user enter the folders of a package, whatever the umask.
func openFolders(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}
