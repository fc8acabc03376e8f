// Package elementwise computes the pointwise operations of the table on the host.
//
// Each operation has a function for each class of numbers in which it has a meaning
// (FloatScalars and its like), and what programs use most has a loop over stored elements
// as well, for f32, f64, s32, s64 and u8. Both give the same bits, which a test holds. What
// they earn, on one core of an x86-64 server (BenchmarkTyped, BenchmarkSlices):
//
//   - a typed loop takes 1/1.5 to 1/8 of the time of the functions for 4,096 elements, and
//     1/4 to 1/12 for four: no conversion, no call for each element;
//   - a function over a slice takes 1/1.3 to 1/4 of the time of a call for each element,
//     but for those that a call costs nothing, which have none (tan, expm1, cbrt).
//
// Where u64 meets signed integers neither type has all numbers, so comparison, division,
// shifts and powers have functions of their own (mixed.go).
//
// The package knows neither shapes beyond broadcasting nor axes.
package elementwise
