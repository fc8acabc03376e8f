// Package terms prints the table of operations as Erlang terms, and the digest by which a client of
// another version is recognized. The Elixir package generates its callbacks from them (priv/ops.eterm).
//
// The digest is computed once. The package does not know what reads the terms.
package terms

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"nxvk/ops"
)

// Table is the table as Erlang terms, one a line, for file:consult/1:
//
//	{op, Name, [{kind, Kind}, {arity, N}, {attrs, [{Name, Kind, [EnumName]}]},
//	            {results, N}, {result, Rule}, {doc, Doc}]}.
//
// Names and kinds are atoms, sentences binaries, and the arity of
// operations that take one or more operands is -1. The first term is
// {digest, Hex}, of all bytes that follow it.
func Table() string {
	return fmt.Sprintf("{digest, <<\"%s\">>}.\n", Digest()) + rows()
}

// Digest identifies the table, so that a client of another version is recognized. It is the
// SHA-256 of Table without its first line, in hex.
var Digest = sync.OnceValue(func() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(rows())))
})

func rows() string {
	var b strings.Builder
	for op := ops.Op(0); op < ops.Count; op++ {
		b.WriteString(term(op.Info()))
	}
	return b.String()
}

func term(f *ops.Info) string {
	attrs := make([]string, len(f.Attrs))
	for i, a := range f.Attrs {
		attrs[i] = fmt.Sprintf("{%s, %s, [%s]}", a.Name, a.Kind.Atom(), strings.Join(a.Names, ", "))
	}
	return fmt.Sprintf("{op, %s, [{kind, %s}, {arity, %d}, {attrs, [%s]}, {results, %d}, {result, %s}, {doc, %s}]}.\n",
		f.Name, f.Kind, f.Arity, strings.Join(attrs, ", "), f.Results, f.Result, text(f.Doc))
}

// text prints a binary. The table is ASCII, so Go's escapes are Erlang's.
func text(s string) string { return fmt.Sprintf("<<%q>>", s) }
