package kernels

// A driver takes up to a second to compile the kernel of a product, and that is what the first call of most programs waits for.
// So the first calls use a starter, which is compiled in a fraction of that time and is several times as slow, and the kernel
// is compiled meanwhile. Both give the same bits. Where the pipeline cache has the kernel, there is no need of one; where the
// driver refuses the kernel, the starter stays. Fusions have none: until they are compiled, programs run one instruction at a time.

// start has the starter of a kernel made, and calls then to have the kernel itself made.
func (c *Cache) start(k *Kernel, then func()) {
	s := c.Wanted(k.Kernel.Starter)
	s.holders++
	k.starter = s
	made := func() {
		k.tellReady()
		then()
	}
	c.Compile(s)
	if s.done {
		made()
		return
	}
	s.Then(made)
}

// starts reports whether a kernel has a starter that is made.
func (k *Kernel) starts() bool { return k.starter != nil && k.starter.pipe != nil }

// tellReady calls those who wait until the device can run the kernel.
func (k *Kernel) tellReady() {
	told := k.onReady
	k.onReady = nil
	for _, f := range told {
		f()
	}
}

// dismiss lets go of the starter of a kernel that is made, or has gone.
func (c *Cache) dismiss(k *Kernel) {
	if k.starter != nil {
		k.starter.holders--
		k.starter = nil
	}
}
