package lowering

// Archive keeps compiled kernels across restarts of the process. It may lose
// entries, but returns for a key only data that the same build of this package
// put there. Its methods may be called from any goroutine.
type Archive interface {
	Get(key string) []byte // nil where there is nothing
	Put(key string, data []byte)
}
