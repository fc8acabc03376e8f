// Package fewtest says how many of their cases tests draw. With -short, which `make test` gives, they are
// few, and every class of cases is still among them; `go test` alone and `make test-full` draw all.
package fewtest

import "testing"

// Of is all, or few with -short.
func Of(all, few int) int {
	if testing.Short() {
		return few
	}
	return all
}

// OneIn reports whether a test tries a case of a product of lists, of which index says the place in
// each: all, with -short one in n. Each element of a list is tried, if another list has n elements.
func OneIn(n int, index ...int) bool {
	return !testing.Short() || oneIn(n, index)
}

func oneIn(n int, index []int) bool {
	sum := 0
	for _, i := range index {
		sum += i
	}
	return sum%n == 0
}

// Step reports whether a test that has something happen after so many steps tries i of 0 to n-1: all, with
// -short 0, the last, and between them one for each half again as many.
func Step(i, n int) bool {
	if !testing.Short() {
		return true
	}
	for s := 0; s < n; s += 1 + s/2 {
		if i == s {
			return true
		}
	}
	return i == n-1
}
