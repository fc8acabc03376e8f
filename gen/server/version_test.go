package server

import (
	"runtime/debug"
	"testing"
)

// A version is the release, and the commit where the build knows it.
func TestVersionOf(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "1a2b3c4d5e6f"}
	for _, x := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, Release},
		{[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, Release},
		{[]debug.BuildSetting{commit, {Key: "vcs.modified", Value: "false"}}, Release + "+1a2b3c4"},
		{[]debug.BuildSetting{commit, {Key: "vcs.modified", Value: "true"}}, Release + "+1a2b3c4.dirty"},
		{[]debug.BuildSetting{{Key: "vcs.revision", Value: "1a"}}, Release + "+1a"},
	} {
		if got := versionOf(x.settings); got != x.want {
			t.Errorf("%v: %q, want %q", x.settings, got, x.want)
		}
	}
}
