//go:build !amd64

package tiles

// Of returns what sums tiles of a type, nil where there are no instructions for it.
func Of[T Number]() Sum[T] { return nil }
