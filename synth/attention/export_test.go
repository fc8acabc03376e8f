package attention

// PayAlways has Find find every attention, until the function that it returns is called.
func PayAlways() func() {
	Always = true
	return func() { Always = false }
}
