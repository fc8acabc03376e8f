package spirv

import "slices"

// assemble joins the sections in the order that the specification asks for.
func (m *module) assemble() []uint32 {
	main := m.entry
	modes := m.executionModes(main) // adds capabilities
	version := uint32(version13)
	if m.o.Addresses {
		version = version15
		m.cap(capPhysicalAddresses)
	}
	out := make([]uint32, 0, len(m.code)+len(m.types)+len(m.decor)+128)
	out = append(out, magic, version, 0, m.last+1, 0)
	for _, c := range m.caps {
		put(&out, opCapability, c)
	}
	for _, e := range m.extensions() {
		put(&out, opExtension, text(e)...)
	}
	put(&out, opExtInstImport, append([]uint32{m.glsl}, text("GLSL.std.450")...)...)
	address := uint32(addressLogical)
	if m.o.Addresses {
		address = addressPhysical
	}
	put(&out, opMemoryModel, address, memoryGLSL450)
	put(&out, opEntryPoint, slices.Concat([]uint32{modelGLCompute, main}, text("main"), m.iface)...)
	out = append(out, modes...)
	out = append(out, m.decor...)
	out = append(out, m.types...)
	return append(out, m.code...)
}

// extensions lists what version 1.3 lacks; 1.5 has all of it.
func (m *module) extensions() []string {
	var e []string
	if m.o.Addresses {
		return nil
	}
	if slices.Contains(m.caps, capStorage8) {
		e = append(e, "SPV_KHR_8bit_storage")
	}
	if slices.ContainsFunc(m.caps, func(c uint32) bool { return c >= capDenormPreserve && c <= capRoundEven }) {
		e = append(e, "SPV_KHR_float_controls")
	}
	return e
}

// executionModes states the workgroup size and the float controls.
func (m *module) executionModes(main uint32) []uint32 {
	var out []uint32
	l := m.k.Local
	put(&out, opExecutionMode, main, modeLocalSize, l[0], l[1], l[2])
	return append(out, m.floatControls(main)...)
}

// floatControls states for each width of float that the kernel computes with how
// it rounds and what it keeps.
func (m *module) floatControls(main uint32) []uint32 {
	var out []uint32
	type control struct {
		on        bool
		cap, mode uint32
		width     uint32
	}
	for _, c := range []control{
		{m.o.Preserve32, capPreserve, modePreserve, 32},
		{m.o.RoundEven32, capRoundEven, modeRoundEven, 32},
		{m.o.Denorm32, capDenormPreserve, modeDenormPreserve, 32},
		{m.o.Preserve64, capPreserve, modePreserve, 64},
		{m.o.RoundEven64, capRoundEven, modeRoundEven, 64},
		{m.o.Denorm64, capDenormPreserve, modeDenormPreserve, 64},
	} {
		if _, used := m.cache[key{op: opTypeFloat, a: c.width}]; c.on && used {
			m.cap(c.cap)
			put(&out, opExecutionMode, main, c.mode, c.width)
		}
	}
	return out
}
