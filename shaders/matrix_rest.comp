#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/types.glsl"
#include "lib/order.glsl"

// The results of the last tiles of a product on matrix hardware, whose k was shared out (see lib/matrix.glsl):
// each is the sum of those of the shares, in their order. a has, for each share, the tiles one after the
// other. b is a again and not read.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint ALIGNED_C = 1; // rows of c begin at whole vectors

#define PARAMETERS                                                  \
    uint m, n;                                                      \
    uint tile_m, tile_n;                                            \
    uint rest_first;      /* the number of the first of the tiles */ \
    uint rest;            /* tiles */                               \
    uint shares;                                                    \
    uint line;            /* workgroups in a line of the grid */

#include "lib/memory.glsl"

void main() {
    const uint vectors = p.tile_m * p.tile_n / V; // of a tile
    const uint e = (gl_WorkGroupID.y * p.line + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    const uint across = (p.n + p.tile_n - 1) / p.tile_n, down = (p.m + p.tile_m - 1) / p.tile_m;
    const uint number = p.rest_first + e / vectors, place = e % vectors * V;
    const uvec2 tile = tile_at(number % (across * down), across, down);
    const uint m = tile.x * p.tile_m + place / p.tile_n, n = tile.y * p.tile_n + place % p.tile_n;
    if (e >= p.rest * vectors || m >= p.m || n >= p.n) return;
    precise TV sum = A_VEC(e);
    for (uint s = 1; s < p.shares; s++) sum += A_VEC(e + s * p.rest * vectors);
    const uint at = (number / (across * down) * p.m + m) * p.n + n;
    if (ALIGNED_C != 0) {
        put_vec(at / V, sum);
        return;
    }
    [[dont_unroll]] for (uint j = 0; j < min(uint(V), p.n - n); j++)
        put_one(at + j, j == 0 ? sum.x : j == 1 ? sum.y : j == 2 ? sum.z : sum.w);
}
