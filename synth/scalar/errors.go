package scalar

import (
	"errors"
	"fmt"
)

var (
	// ErrSyntax is wrapped by errors about text that is not of the language.
	ErrSyntax = errors.New("syntax error")
	// ErrType is wrapped by errors about text whose names or types do not fit.
	ErrType = errors.New("type error")
)

// fault is what the parser and the lowering panic with; Compile and the
// library loader turn it into an error at the boundary of the package.
type fault struct{ err error }

// at returns the error as "file:line:column: …".
func at(src *source, pos int, kind error, format string, args ...any) fault {
	line, col := src.position(pos)
	return fault{fmt.Errorf("%s:%d:%d: %s: %w", src.name, line, col, fmt.Sprintf(format, args...), kind)}
}

// catch stores the error of a fault; other panics go on.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case fault:
		*err = r.err
	default:
		panic(r)
	}
}
