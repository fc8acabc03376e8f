// Package fft computes Fourier transforms along axes, in complex128.
//
// Short lines, and those whose length has small factors alone, are transformed by gonum.
// Longer ones are rows and columns (Bailey, FFTs in External or Hierarchical Memory, 1990),
// which all processors share; lengths with a large prime factor are a convolution of a
// power of two (Bluestein, 1970). All take n log n operations, and up to six copies of a
// line as working memory. Plans of 64 lengths are kept.
//
// The package knows nothing of other operations along axes.
package fft
