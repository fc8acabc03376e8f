package server

import "runtime/debug"

// Release is the version of the node, of the protocol in gen/README.md and of the Elixir
// packages. `make release-check` compares them with it.
const Release = "0.2.0"

// Version is the release and, where the Go tool knows it, the commit of the build:
// "0.2.0+1a2b3c4", or "0.2.0+1a2b3c4.dirty" of a tree with uncommitted changes.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Release
	}
	return versionOf(info.Settings)
}

// versionOf is Version of a build with these settings.
func versionOf(settings []debug.BuildSetting) string {
	commit, dirty := "", false
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if commit == "" {
		return Release
	}
	version := Release + "+" + commit[:min(len(commit), 7)]
	if dirty {
		version += ".dirty"
	}
	return version
}
