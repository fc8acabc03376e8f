package vulkan

import (
	"errors"
	"testing"
)

// TestStorageRange binds parts of a buffer that is longer than a binding holds.
func TestStorageRange(t *testing.T) {
	const most = 1 << 10
	d := openTest(t, Options{Fault: Fault{StorageRange: func() uint64 { return most }}})
	p := affine(t, d, false)
	long, short := must(d.Alloc(4*most))(t), must(d.Alloc(most))(t)
	s := d.Stream()
	try := func(a Arg) error {
		return s.Dispatch(p, []Arg{WriteOnly(short), a}, affinePush(most/4, 1, 1), 4, 1, 1)
	}
	if err := try(ReadOnly(long)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("all of it: got %v, want ErrTooLarge", err)
	}
	for _, off := range []int{0, most, 3 * most} {
		if err := try(Arg{Buffer: long, Offset: off, Size: most, Access: Read}); err != nil {
			t.Errorf("%d bytes at %d: %v", most, off, err)
		}
	}
	if err := try(Arg{Buffer: long, Size: most + 4, Access: Read}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a part that is too long: got %v, want ErrTooLarge", err)
	}
	if got := d.Info().Limits.MaxStorageRange; got != most {
		t.Errorf("the device says %d, want %d", got, most)
	}
	wait(t, d, must(s.Submit())(t))
}

// TestNoAddresses opens a device without buffer device addresses.
func TestNoAddresses(t *testing.T) {
	d := openTest(t, Options{Fault: Fault{NoAddresses: true}})
	b := must(d.Alloc(4))(t)
	if i := d.Info(); i.Features.BufferDeviceAddress || !i.Bindings || b.Address() != 0 {
		t.Errorf("got addresses %v, bindings %v, an address %x", i.Features.BufferDeviceAddress, i.Bindings, b.Address())
	}
}
