#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/matrix_version.glsl"
#include "lib/operands.glsl"
#include "lib/types.glsl"

#define SLICED
#define BUFFERS 1
#define SLICE_A TILE_K
#define SLICE_B TILE_K

#include "lib/matrix.glsl"

// A matrix product on matrix hardware of few rows or columns, which takes as long as its large operand takes to be read.
// A workgroup has few results, so that there are many workgroups, and its subgroups share out k (sliced k, as
// CUTLASS names it). Each subgroup works by itself until the sums are added up: it has several slices in registers on
// their way from memory, and one in shared memory of its own.

// What the subgroup has stored in shared memory is there. Loads from memory stay on their way.
#define SHARED controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);

// HOLD loads slice n of the subgroup.
#define HOLD(a, b, n)                                                            \
    {                                                                            \
        const int k = begin + int(min(n, max(steps, 1) - 1) * TILE_K);           \
        LOAD_A(a, k, true, n + 1 < steps)                                        \
        LOAD_B(b, k, true, n + 1 < steps)                                        \
    }

// STEP multiplies slice t + n, and loads the one AHEAD of it.
#define STEP(a, b, n)                                                            \
    SHARED                                                                       \
    STORE_A(0, a)                                                                \
    STORE_B(0, b)                                                                \
    SHARED                                                                       \
    if (more) {                                                                  \
        LOAD_A(a, 0, false, t + n + AHEAD + 1 < steps)                           \
        LOAD_B(b, 0, false, t + n + AHEAD + 1 < steps)                           \
    }                                                                            \
    if (t + n < steps) {                                                         \
        MULTIPLY_SLICE                                                           \
    }

// A starter has one slice on its way, and half the code.
#if defined(STARTER)
const uint AHEAD = 1;
#else
const uint AHEAD = 2; // slices on their way
#endif

void main() {
    MATRIX_LOCALS
    uvec4 a0[COUNT_A], b0[COUNT_B];
    const uint all = (uint(k_count) + TILE_K - 1) / TILE_K;
    const uint from = gl_SubgroupID * all / WARPS_K, steps = (gl_SubgroupID + 1) * all / WARPS_K - from;
    const uint most = (all + WARPS_K - 1) / WARPS_K; // steps of a subgroup: all take as many barriers, since lavapipe waits for the workgroup
    const int begin = int(from * TILE_K) + k_count - int(all * TILE_K); // of the subgroup's k, which the first pads with zeros
    MATRIX_BEGIN(-begin)
    HOLD(a0, b0, 0)
#if !defined(STARTER)
    uvec4 a1[COUNT_A], b1[COUNT_B];
    HOLD(a1, b1, 1)
#endif
    [[dont_unroll]] for (uint t = 0; t < most; t += AHEAD) {
        const bool more = t + AHEAD < most;
        STEP(a0, b0, 0)
#if !defined(STARTER)
        STEP(a1, b1, 1)
#endif
    }
    MATRIX_END
}
