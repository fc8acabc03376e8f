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

// Results of an invocation, a workgroup apart, so that as many loads are under way at once.
#define EACH 4

void main() {
    const uint group = gl_WorkGroupID.y * p.line + gl_WorkGroupID.x;
    const uint first = group * gl_WorkGroupSize.x * EACH + gl_LocalInvocationID.x;
    uint at[EACH];
    precise T sum[EACH];
    [[unroll]] for (uint e = 0; e < EACH; e++) {
        at[e] = min(first + e * gl_WorkGroupSize.x, p.count - 1);
        sum[e] = A_ONE(at[e]);
    }
    for (uint s = 1; s < p.chunks; s++) {
        [[unroll]] for (uint e = 0; e < EACH; e++) sum[e] += A_ONE(at[e] + s * p.count);
    }
    [[unroll]] for (uint e = 0; e < EACH; e++) {
        if (first + e * gl_WorkGroupSize.x < p.count) put_one(at[e], sum[e]);
    }
}
