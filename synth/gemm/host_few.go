package gemm

import (
	"nxvk/fallback/sched"
	"nxvk/synth/gemm/tiles"
)

// A product of a few rows of A and columns of B that are contiguous, as that of a matrix and a vector, reads B once. The
// columns need not be packed: fewColumns of them are read side by side, and the sums are independent chains of additions.

const (
	fewColumns = 8
	fewDeep    = 1 << 10 // elements of a column that are read for all rows before the next ones
	fewEach    = 64      // columns that a worker should have at least
)

// few reports whether a box has few rows, and rows of A and columns of B that are contiguous.
func (x box) few(colA, rowB, colB int) bool {
	return x.rows < tiles.Rows && colA == 1 && rowB == 1 && colB != 1
}

// fewRows computes the sums of such a box, row by row.
func (s *hostStep[T]) fewRows(w *sched.Worker, x box, sums, a, b []T, k, rowA, colB int) {
	for first := 0; first < x.cols; first += fewColumns {
		n := min(fewColumns, x.cols-first)
		for from := 0; from < k; from += fewDeep {
			to := min(from+fewDeep, k)
			for i := range x.rows {
				row, sum := a[i*rowA+from:i*rowA+to], sums[i*x.cols+first:][:n]
				if n == fewColumns {
					eight(row, b[first*colB+from:], colB, sum)
					continue
				}
				for j := range sum {
					sum[j] = dot(row, b[(first+j)*colB+from:], sum[j])
				}
			}
		}
		w.Check()
	}
}

// eight adds to each of eight sums the products of a row and a column. Columns begin step apart.
func eight[T element](row, b []T, step int, sums []T) {
	k := len(row)
	b0, b1, b2, b3 := b[:k], b[step:][:k], b[2*step:][:k], b[3*step:][:k]
	b4, b5, b6, b7 := b[4*step:][:k], b[5*step:][:k], b[6*step:][:k], b[7*step:][:k]
	sums = sums[:fewColumns]
	s0, s1, s2, s3, s4, s5, s6, s7 := sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]
	for i, x := range row {
		s0 = T(x*b0[i]) + s0
		s1 = T(x*b1[i]) + s1
		s2 = T(x*b2[i]) + s2
		s3 = T(x*b3[i]) + s3
		s4 = T(x*b4[i]) + s4
		s5 = T(x*b5[i]) + s5
		s6 = T(x*b6[i]) + s6
		s7 = T(x*b7[i]) + s7
	}
	sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7] = s0, s1, s2, s3, s4, s5, s6, s7
}

// dot adds to a sum the products of a row and a column.
func dot[T element](row, column []T, sum T) T {
	column = column[:len(row)]
	for i, x := range row {
		sum = T(x*column[i]) + sum
	}
	return sum
}
