// Package windowing lowers reductions of sliding windows: window_sum, window_max
// and the like, reduce and window_reduce with a function of the user, and
// window_scatter_max and _min (the gradient of a pooling). Each invocation folds
// the window of one output in row-major order, so results do not depend on the
// device.
//
// Sums, extremes and products of integers over large windows are separable: a pass
// along each axis that has windows, and two along an axis whose windows are long. The
// cost of an output is then the sum of the lengths of a window, and else its size.
// Windows that are whole axes are reductions of those.
// Dispatches are bounded in length.
package windowing
