// Package draw makes operands and programs at random, for tests that compare two
// ways to compute them. The same seed gives the same operands and the same
// program.
package draw
