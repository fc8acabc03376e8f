// Package etf is the Erlang external term format: terms as Go values, their
// encoding and decoding.
//
// It refuses to know who sends the bytes. Framing, atom caches and fragments
// are the distribution's business; this package only offers the hooks they
// need: a table of atoms that cache references index, and binaries that are
// kept outside the encoded bytes.
//
// Three properties are promised for any input, however hostile: decoding
// never panics; it allocates at most a constant factor of what it was given;
// and it does not recurse, so a term may be nested as deep as its bytes are
// long. Encoding does not recurse either.
//
// Large binaries have their own path. [Scanner] finds them in a stream before
// the term is complete, so that a reader can put their contents into an
// [Allocator]'s memory straight from the socket; the decoder then takes them
// from [Decoder.Large]. [Encoder] in turn leaves large binaries where they are
// and yields segments for a gathering write.
//
// Start with term.go for the Go types, then decode.go and encode.go.
package etf
