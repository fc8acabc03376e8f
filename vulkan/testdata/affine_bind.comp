// out[i] = in[i] * mul + add, by bindings.
#version 460

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint extra = 0;
layout(binding = 0) buffer Out { uint dst[]; };
layout(binding = 1) buffer In { uint src[]; };
layout(push_constant) uniform Push { uint n; uint mul; uint add; };

void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i < n) dst[i] = src[i] * mul + add + extra;
}
