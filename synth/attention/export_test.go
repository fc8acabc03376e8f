package attention

// UseHardware has programs use matrix hardware, until the function that it returns is called.
func UseHardware() func() {
	OnHardware = true
	return func() { OnHardware = false }
}

// PayAlways has Find find every attention, and those of narrow types use matrix hardware, until the function
// that it returns is called.
func PayAlways() func() {
	Always, OnHardware = true, true
	return func() { Always, OnHardware = false, false }
}
