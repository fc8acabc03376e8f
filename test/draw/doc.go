// Package draw makes operands and programs at random, for the tests that compare
// what computes them: the same seed gives the same operands and the same program.
package draw
