#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/types.glsl"

#define TILE_ADVANCE true
#define TILE_ON(step, far) (far)
#define TILE_SWIZZLE false
#define TILE_HALVES 1
#define TILE_MULTIPLY(fa, fb)                                                    \
    [[unroll]] for (uint j = 0; j < COLS; j++)                                   \
        [[unroll]] for (uint i = 0; i < ROWS; i++) TILE_PRODUCT(fa, fb, i, j)

#include "lib/tile.glsl"

// A matrix product through one buffer of shared memory: the next slices are
// loaded into registers while the present ones are multiplied, then take their
// place between two barriers. Little shared memory and few registers, so that
// several workgroups run on a multiprocessor.

// A starter is compiled in about a third of the time, since its loop over the k of a slice stays one. It has the bits of any
// other kernel of tiles, and stands for them until they are compiled.
#if defined(STARTER)
#define UNROLL_K [[dont_unroll]]
#else
#define UNROLL_K [[unroll]]
#endif

shared TV shared_a[TILE_K * WIDTH_A];
shared TV shared_b[TILE_K * WIDTH_B];

#define MULTIPLY_SLICE                                                           \
    UNROLL_K for (uint k = 0; k < TILE_K; k++) {                                 \
        TV fa[QM], fb[QN];                                                       \
        TILE_FRAGMENT(fa, fb, 0, k)                                              \
        TILE_MULTIPLY(fa, fb)                                                    \
    }

void main() {
    TILE_LOCALS
    const uint tiles = (uint(k_count) + TILE_K - 1) / TILE_K;
    TILE_BEGIN(tiles)
    TILE_LOAD(0, true)
    TILE_STORE(0)
    barrier();
    for (uint t = 1; t < tiles; t++) {
        TILE_LOAD(t, false)
        MULTIPLY_SLICE
        barrier();
        TILE_STORE(0)
        barrier();
    }
    MULTIPLY_SLICE
    TILE_END
}
