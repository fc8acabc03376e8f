package queue

import "time"

// SliceSteps is how many steps a slice has at most, however short they are.
const SliceSteps = 256

// InSlices calls step for 0 to n-1 on the goroutine of the queues, in slices of at most half a
// millisecond and SliceSteps steps. post runs a function on that goroutine; what others have
// posted or sent has its turn between two slices. The first slice runs at once. After the last
// step, or the first that reports false, then is told whether all have been taken.
func InSlices(post func(func()), n int, step func(i int) bool, then func(all bool)) {
	inSlices(post, 0, n, step, then)
}

func inSlices(post func(func()), from, n int, step func(i int) bool, then func(all bool)) {
	since := time.Now()
	for i := from; i < n; i++ {
		if taken := i - from; taken == SliceSteps || taken > 0 && time.Since(since) >= turnTime {
			post(func() { inSlices(post, i, n, step, then) })
			return
		}
		if !step(i) {
			then(false)
			return
		}
	}
	then(true)
}
