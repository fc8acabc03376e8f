// Package etf is the Erlang external term format: terms as Go values, their
// encoding and decoding.
//
// It refuses to know who sends the bytes. Framing, atom caches and fragments are the
// distribution's business. This package only offers the hooks that they need: a table of
// atoms that cache references index, a bound on the memory of terms, and binaries that
// are kept outside of the encoded bytes.
//
// Three properties hold for any input, however hostile. Decoding never panics. It
// allocates at most a constant factor of its input. It does not recurse, so a term may be
// nested as deep as its bytes are long. Encoding does not recurse either.
//
// Large binaries have their own path. [Scanner] finds them in a stream before the term
// is complete, so that a reader can put their contents into memory of an [Allocator]
// straight from the socket. The decoder then takes them from [Decoder.Large]. [Encoder]
// leaves large binaries where they are, as cuts for a gathering write.
//
// Start with term.go for the Go types, then decode.go and encode.go.
package etf
