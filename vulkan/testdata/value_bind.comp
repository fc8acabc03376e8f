// dst[at] is scrambled by a number of rounds, each with a constant of its own: the machine code of each value differs, in
// content and in length.
#version 460

layout(local_size_x = 1) in;
layout(constant_id = 0) const uint value = 0;
layout(constant_id = 1) const uint count = 1;
layout(binding = 0) buffer Out { uint dst[]; };
layout(push_constant) uniform Push { uint at; };

void main() {
	uint x = dst[at];
	for (uint i = 0; i < count; i++) {
		x = (x ^ (value + i)) * 2654435761u + (x >> 15);
	}
	dst[at] = x;
}
