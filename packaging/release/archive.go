package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// bundle is what the archive of one target has.
type bundle struct {
	target  target
	version string
	epoch   time.Time
	node    string // path of the program
	sbom    []byte
	files   []file // sorted by name
}

// file is a file of an archive.
type file struct {
	name string
	mode os.FileMode
	data []byte
}

// base is the name of the archive without its extension.
func (b *bundle) base() string {
	return fmt.Sprintf("nxvk-node_%s_%s_%s", b.version, b.target.os, b.target.arch)
}

// archive is the name of the archive: .zip for Windows, where everybody can open that.
func (b *bundle) archive() string {
	if b.target.os == "windows" {
		return b.base() + ".zip"
	}
	return b.base() + ".tar.gz"
}

// url is where the archive is published.
func (b *bundle) url() string {
	return home + "/releases/download/v" + b.version + "/" + b.archive()
}

// services are the files by which a system starts the node, with their names in the archive.
var services = map[string][]struct{ from, name string }{
	"linux":   {{"packaging/systemd/nxvk-node.service", "systemd/nxvk-node.service"}, {"packaging/systemd/nxvk-node.default", "systemd/nxvk-node.default"}},
	"freebsd": {{"packaging/freebsd/nxvk_node", "rc.d/nxvk_node"}},
}

// gather reads the files of an archive.
func gather(root string, b *bundle, deps []dependency) ([]file, error) {
	var files []file
	var failed error
	add := func(name, from string, mode os.FileMode) {
		data, err := os.ReadFile(from)
		failed = errors.Join(failed, err)
		files = append(files, file{name, mode, data})
	}
	add(b.target.binary(), b.node, 0o755)
	for _, name := range []string{"LICENSE", "README.md"} {
		add(name, filepath.Join(root, name), 0o644)
	}
	for _, s := range services[b.target.os] {
		mode := os.FileMode(0o644)
		if strings.HasPrefix(s.name, "rc.d/") {
			mode = 0o755
		}
		add(s.name, filepath.Join(root, s.from), mode)
	}
	files = append(files, file{"nxvk-node.spdx.json", 0o644, b.sbom})
	for _, d := range deps {
		for name, text := range d.texts {
			files = append(files, file{path.Join("licenses", d.path, name), 0o644, text})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, failed
}

// writeArchive writes the files of a bundle as a .zip or .tar.gz.
func writeArchive(out string, b *bundle) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	write := writeTar
	if filepath.Ext(out) == ".zip" {
		write = writeZip
	}
	return errors.Join(write(f, b), f.Close())
}

func writeTar(out io.Writer, b *bundle) error {
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	for _, f := range b.files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode), ModTime: b.epoch,
			Uname: "root", Gname: "root", Format: tar.FormatPAX,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

func writeZip(out io.Writer, b *bundle) error {
	archive := zip.NewWriter(out)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, f := range b.files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: b.epoch}
		header.SetMode(f.mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeChecksums writes checksums.txt of the named files of a folder, as GoReleaser does and
// sha256sum -c reads it, to that folder and to others.
func writeChecksums(names []string, dir string, others ...string) error {
	var lines strings.Builder
	for _, name := range slices.Sorted(slices.Values(names)) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), name)
	}
	var failed error
	for _, to := range append(others, dir) {
		failed = errors.Join(failed, install(filepath.Join(to, "checksums.txt"), []byte(lines.String()), 0o644))
	}
	return failed
}
