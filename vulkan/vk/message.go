//go:build cgo

package vk

// #include <stdint.h>
import "C"

import "runtime/cgo"

const severityError = 0x1000 // VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT

//export nxvkMessage
func nxvkMessage(handle C.uintptr_t, severity C.uint32_t, text *C.char) {
	name := "warning"
	if severity >= severityError {
		name = "error"
	}
	if f, ok := cgo.Handle(handle).Value().(Message); ok && f != nil {
		f(name, C.GoString(text))
	}
}
