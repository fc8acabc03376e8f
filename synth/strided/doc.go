// Package strided says where the elements of tensors lie: a View is an offset and
// a stride for each dimension of an iteration space. Movements that copy nothing
// (reshape, transpose, broadcast, slice, reverse, crop) are views, and views
// compose (Compose) as long as strides express the result.
//
// A Reduction is the iteration space of a reduction, its kept and its reduced
// dimensions. ScheduleOf deals its elements out to invocations and workgroups; the
// order of summation follows from the shape and the profile of the device alone.
//
// Example: the transpose of a 3 by 4 tensor has strides {1, 4}. The package emits
// no code.
package strided
