// out[i] = in[i] * mul + add, by addresses.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };
layout(push_constant) uniform Push { Words dst; Words src; uint n; uint mul; uint add; };

void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i < n) dst.v[i] = src.v[i] * mul + add;
}
