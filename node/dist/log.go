package dist

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/time/rate"
)

// logRate and logBurst bound the warnings that strangers can have this node log.
const (
	logRate  = rate.Limit(1) // a second
	logBurst = 10
)

// warn logs a warning that may contain words of others. Control characters, which a
// terminal would obey, are escaped.
func (n *Node) warn(format string, args ...any) {
	if n.Node != nil {
		n.Node.Log().Warning("%s", printable(fmt.Sprintf(format, args...)))
	}
}

// warnSome is warn for what anybody who reaches the port can cause as often as they
// like. Warnings above logRate are left out, and the next line says how many were.
func (n *Node) warnSome(format string, args ...any) {
	if !n.warnings.Allow() {
		n.unsaid.Add(1)
		return
	}
	if unsaid := n.unsaid.Swap(0); unsaid > 0 {
		format += " (%d warnings before it are left out)"
		args = append(args, unsaid)
	}
	n.warn(format, args...)
}

// printable escapes characters that cannot be printed, as Go does in a string.
func printable(s string) string {
	clean := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if !strings.ContainsFunc(s, clean) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if clean(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
