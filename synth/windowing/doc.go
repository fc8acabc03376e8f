// Package windowing lowers reductions of sliding windows: window_sum, window_max
// and the like, reduce and window_reduce with a function of the user, and
// window_scatter_max and _min (the gradient of a pooling). Each invocation folds
// the window of one output in row-major order, so results do not depend on the
// device.
//
// The cost is the size of a window for each output. Dispatches are bounded in
// length.
package windowing
