package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nxvk/packaging/version"
)

func main() {
	r := release{root: "."}
	flag.StringVar(&r.version, "version", "", "`version` of the release (default: that of the tag of this commit)")
	flag.StringVar(&r.out, "out", "dist", "`folder` for the files of the release")
	names := flag.String("targets", "", "`systems` to build for, such as linux/amd64, separated by commas (default: all)")
	flag.Parse()
	if err := r.run(*names); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// elixirPriv is the folder of the Elixir package from which it reads the checksums: it downloads
// the archives. Git ignores the file there, because the tag of a release cannot have it.
const elixirPriv = "elixir/nx_vulkan_go/priv"

// release is what one run makes.
type release struct {
	root    string    // of the repository
	version string    // such as 0.2.0 or 0.2.0-rc.1
	out     string    // folder for the results
	epoch   time.Time // of every file in an archive
	commit  string    // that the programs must name, of a tag
}

// run builds for the targets of these names and writes the checksums.
func (r *release) run(names string) error {
	selected, err := selectTargets(names)
	if err != nil {
		return err
	}
	if err := r.findVersion(); err != nil {
		return err
	}
	if err := r.findEpoch(); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	var files []string
	for _, t := range selected {
		made, err := r.make(t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		files = append(files, made...)
	}
	return writeChecksums(files, r.out, filepath.Join(r.root, elixirPriv))
}

// make builds the node for a target and writes its files. It returns their names.
func (r *release) make(t target) ([]string, error) {
	work, err := os.MkdirTemp("", "nxvk-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	deps, err := t.dependencies(r.root)
	if err != nil {
		return nil, err
	}
	b := bundle{target: t, version: r.version, epoch: r.epoch, node: filepath.Join(work, t.binary())}
	if err := t.build(r.root, b.node); err != nil {
		return nil, err
	}
	if err := checkCommit(b.node, r.commit); err != nil {
		return nil, err
	}
	if b.sbom, err = describe(&b, deps); err != nil {
		return nil, err
	}
	if b.files, err = gather(r.root, &b, deps); err != nil {
		return nil, err
	}
	made := []string{b.archive(), b.archive() + ".sbom.json"}
	err = errors.Join(
		writeArchive(filepath.Join(r.out, made[0]), &b),
		os.WriteFile(filepath.Join(r.out, made[1]), b.sbom, 0o644))
	if err == nil && t.debian != "" {
		made = append(made, b.base()+".deb")
		err = writeDebian(r.root, filepath.Join(r.out, made[2]), &b)
	}
	for _, name := range made {
		if st, statErr := os.Stat(filepath.Join(r.out, name)); statErr == nil {
			fmt.Printf("%s  %.1f MB\n", name, float64(st.Size())/1e6)
		}
	}
	return made, err
}

// findVersion compares the given version with that of the tree. Without one, the commit must
// have the tag of the release and the tree no changes.
func (r *release) findVersion() error {
	tree, err := version.Read(r.root)
	if err != nil {
		return err
	}
	if r.version = strings.TrimPrefix(r.version, "v"); r.version != "" {
		if r.version != tree && !strings.HasPrefix(r.version, tree+"-") {
			return fmt.Errorf("VERSION=%s, but %s has %s: give that, or a pre-release of it such as %s-rc.1", r.version, version.Source, tree, tree)
		}
		return nil
	}
	tags, err := git(r.root, "tag", "--points-at", "HEAD", "--list", "v"+tree)
	if err != nil {
		return err
	}
	if tags == "" {
		return fmt.Errorf("this commit has no tag v%s: tag it, or give VERSION=%s", tree, tree)
	}
	if changed, err := git(r.root, "status", "--porcelain"); err != nil || changed != "" {
		return cmp.Or(err, fmt.Errorf("the tree differs from v%s: commit these or remove them, or give VERSION=%s:\n%s", tree, tree, changed))
	}
	r.version = tree
	r.commit, err = git(r.root, "rev-parse", "HEAD")
	return err
}

// findEpoch takes the time of files from SOURCE_DATE_EPOCH, else from the commit.
func (r *release) findEpoch() error {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = git(r.root, "log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH=%q: give the seconds since 1970", text)
	}
	r.epoch = time.Unix(seconds, 0).UTC()
	return nil
}

func git(root string, args ...string) (string, error) {
	return output(root, nil, "git", args...)
}

// output runs a command in a folder and returns what it prints. Its errors have the words of
// the command.
func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:min(len(cmd.Args), 3)], " "), err, words.String())
	}
	return strings.TrimRight(string(out), "\n"), nil
}
