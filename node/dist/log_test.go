package dist

import (
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain":          "plain",
		"nxvk@gpu ø":     "nxvk@gpu ø",
		"\x1b[2J\a":      `\x1b[2J\a`,
		"a\nb\tc":        `a\nb\tc`,
		"\u202eevil\x9b": `\u202eevil\ufffd`,
	} {
		if got := printable(in); got != want || !utf8.ValidString(got) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
