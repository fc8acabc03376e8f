#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/types.glsl"

// A matrix product of any strides, one result an invocation: for what is too
// small for a tile, and the reference that the other kernels are checked with.
// Sums run in the order of k, as those of lib/tile.glsl do. The results of all
// batches form one row, folded into a grid of lines of `line` workgroups.

layout(local_size_x_id = 0) in;

#define PARAMETERS                                                   \
    uint m, n, k;                                                    \
    uint row_a, col_a;     /* elements between m and between k */    \
    uint row_b, col_b;     /* elements between k and between n */    \
    uint batch_a, batch_b; /* elements between matrices */           \
    uint batches;          /* in all; chunks of k repeat them */     \
    uint chunk;            /* k an invocation sums: k, or a share */ \
    uint line;             /* workgroups in a line of the grid */    \
    uint count;            /* results, those of all chunks */

#include "lib/memory.glsl"

void main() {
    const uint group = gl_WorkGroupID.y * p.line + gl_WorkGroupID.x;
    const uint at = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (at >= p.count) return;
    const uint n = at % p.n, m = (at / p.n) % p.m, z = at / p.n / p.m;
    const uint batch = z % p.batches;
    const uint k_begin = (z / p.batches) * p.chunk;
    const uint k_end = min(k_begin + p.chunk, p.k);
    uint a = batch * p.batch_a + m * p.row_a + k_begin * p.col_a;
    uint b = batch * p.batch_b + n * p.col_b + k_begin * p.row_b;
    precise T sum = T(0);
    for (uint k = k_begin; k < k_end; k++) {
        sum = MULADD(A_ONE(a), B_ONE(b), sum);
        a += p.col_a;
        b += p.row_b;
    }
    put_one(at, sum);
}
