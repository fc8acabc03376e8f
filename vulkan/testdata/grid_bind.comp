// dst[i] = 1 + i, where i is the number of the workgroup in the whole grid.
#version 460

layout(local_size_x = 1) in;
layout(binding = 0) buffer Out { uint dst[]; };

void main() {
	uvec3 at = gl_WorkGroupID, all = gl_NumWorkGroups;
	uint i = (at.z * all.y + at.y) * all.x + at.x;
	dst[i] += 1 + i;
}
