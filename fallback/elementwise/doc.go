// Package elementwise computes the pointwise operations of the table on the host.
//
// Each operation has a function for each class of numbers in which it has a meaning
// (FloatScalars and its like). The operations that programs use most have typed loops as
// well, over stored elements of f32, f64, s32, s64 and u8. A test holds that both give the
// same bits. These figures justify them, on one core of an x86-64 server (BenchmarkTyped, BenchmarkSlices):
//
//   - a typed loop takes 1/1.5 to 1/8 of the time of the functions for 4,096 elements, and
//     1/4 to 1/12 for four: no conversion, no call for each element;
//   - a function over a slice takes 1/1.3 to 1/4 of the time of a call for each element,
//     and there is none where a call costs nothing (tan, expm1, cbrt).
//
// Comparison, division, shifts and powers of u64 with signed integers have functions of
// their own, since neither type has all numbers of the other (mixed.go).
//
// The package knows neither shapes beyond broadcasting nor axes.
package elementwise
