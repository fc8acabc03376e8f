// Copies units of 16 bytes, one an invocation.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

layout(local_size_x = 256) in;

layout(buffer_reference, std430, buffer_reference_align = 16) writeonly restrict buffer Out { uvec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly restrict buffer In { uvec4 v[]; };

layout(push_constant) uniform Push {
	Out dst;
	In src;
	uint units;
};

void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i < units) dst.v[i] = src.v[i];
}
