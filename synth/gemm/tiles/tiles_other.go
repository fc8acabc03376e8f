//go:build !amd64

package tiles

// Of returns what sums tiles of a type, nil where there are no instructions for it.
func Of[T Number]() Sum[T] { return nil }

// ColumnsOf returns what sums columns of a type, nil where there are no instructions for it.
func ColumnsOf[T Number]() Columns[T] { return nil }

// PackOf returns what packs columns of a type, nil where there are no instructions for it.
func PackOf[T Number]() Pack[T] { return nil }

func widenOf[T Number](n Narrow) func(count int, from *byte, to *T) { return nil }

func rowsOf[T Number](n Narrow) func(count, step int, a *T, from *byte, sums *T) { return nil }
