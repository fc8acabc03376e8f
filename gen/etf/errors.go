package etf

import "errors"

var (
	// ErrTruncated says that the bytes end inside a term.
	ErrTruncated = errors.New("truncated term")
	// ErrMalformed says that the bytes are not a term.
	ErrMalformed = errors.New("malformed term")
	// ErrTag says that a term starts with a byte that is no known tag.
	ErrTag = errors.New("unknown tag")
	// ErrAtomRef says that a term names an entry that its atom table lacks.
	ErrAtomRef = errors.New("unknown atom cache reference")
	// ErrType says that a Go value has no counterpart in Erlang.
	ErrType = errors.New("type has no external format")
	// ErrTooLarge says that a value exceeds what the format can express.
	ErrTooLarge = errors.New("too large for the external format")
)
