package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// sysroot are the packages of Debian that have the C library, the kernel's headers and
// Vulkan's, with their sums. They are enough to compile and link the node with --sysroot.
var sysroot = []struct{ file, sum string }{
	{"pool/main/g/glibc/libc6_2.31-13+deb11u11_amd64.deb", "05f7264da867b37f4c5ce49266b558ea1e81e05a9464f623152fca70f3550282"},
	{"pool/main/g/glibc/libc6-dev_2.31-13+deb11u11_amd64.deb", "e7f7b45d9c5cfcf37609f0b6efd3c645272c812144703af89dfd32218fcb0fd3"},
	{"pool/main/l/linux/linux-libc-dev_5.10.223-1_amd64.deb", "e3be603bd12377bb90fcfb0f2048ca3a81c886e49d6f09945b82159d1c54f7b2"},
	{"pool/main/v/vulkan-loader/libvulkan-dev_1.3.239.0-1_amd64.deb", "1a3dcf32a47524edfe5eef97bfdb0766fe656f4ae6c5e999291c6a7eb2f07655"},
}

// mirrors have these packages: those of a release move to the archive some years after it.
var mirrors = []string{"http://deb.debian.org/debian", "http://archive.debian.org/debian"}

// findSysroot returns the folder with the C library, which it makes once.
func findSysroot() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	digest := sha256.New()
	for _, p := range sysroot {
		io.WriteString(digest, p.sum)
	}
	root := filepath.Join(cache, "nxvk", "sysroot", fmt.Sprintf("%.8x", digest.Sum(nil)))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(root), "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for _, p := range sysroot {
		if err := unpack(p.file, p.sum, tmp); err != nil {
			return "", err
		}
	}
	if err := relink(tmp); err != nil {
		return "", err
	}
	// Where another process has been faster, its folder stays.
	if err := os.Rename(tmp, root); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return root, nil
}

// unpack fetches a package and unpacks it.
func unpack(file, sum, root string) error {
	from := mirrors
	if m := os.Getenv("NXVK_DEBIAN_MIRROR"); m != "" {
		from = []string{m}
	}
	deb := filepath.Join(root, path.Base(file))
	var failed error
	for _, mirror := range from {
		err := fetch(mirror+"/"+file, sum, deb)
		if err == nil {
			_, err = output(root, nil, "dpkg-deb", "-x", deb, root)
			return errors.Join(err, os.Remove(deb))
		}
		failed = errors.Join(failed, err)
	}
	return fmt.Errorf("%w: NXVK_DEBIAN_MIRROR names another mirror", failed)
}

// fetch writes a file of the network whose SHA-256 must be sum.
func fetch(url, sum, out string) error {
	reply, err := http.Get(url)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, reply.Status)
	}
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(body)); got != sum {
		return fmt.Errorf("%s has the SHA-256 %s instead of %s", url, got, sum)
	}
	return os.WriteFile(out, body, 0o644)
}

// relink makes absolute links point into the folder: a linker would follow them to the C
// library of this machine.
func relink(root string) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		to, err := os.Readlink(name)
		if err != nil || !strings.HasPrefix(to, "/") {
			return err
		}
		relative, err := filepath.Rel(filepath.Dir(name), filepath.Join(root, to))
		if err != nil {
			return err
		}
		return errors.Join(os.Remove(name), os.Symlink(relative, name))
	})
}
