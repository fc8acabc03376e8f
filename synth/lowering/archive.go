package lowering

// Archive keeps what compiling gave from one life of the process to the next. It
// may forget, but gives under a key only what was put there by the same build of
// this package. Its methods may be called from any goroutine.
type Archive interface {
	Get(key string) []byte // nil where there is nothing
	Put(key string, data []byte)
}
