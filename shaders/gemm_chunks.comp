#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/types.glsl"

// Adds the results of products whose k was shared out: c[i] is the sum of
// a[i], a[i + count], … in that order. b is a again and not read.

layout(local_size_x_id = 0) in;

#define PARAMETERS                                                  \
    uint count;  /* results */                                      \
    uint chunks; /* terms of each */                                \
    uint line;   /* workgroups in a line of the grid */

#include "lib/memory.glsl"

void main() {
    const uint group = gl_WorkGroupID.y * p.line + gl_WorkGroupID.x;
    const uint i = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    precise T sum = A_ONE(i);
    for (uint s = 1; s < p.chunks; s++) sum += A_ONE(i + s * p.count);
    put_one(i, sum);
}
