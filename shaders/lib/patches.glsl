// B as the patches that the filters of a convolution see: row k is a tap of a
// channel, column n a place, and neither is in memory. The element is looked up
// in the input, which a filter sees across strides, padding and dilations, along
// one to three axes of space (x the innermost).
//
// The places of the V columns that an invocation loads are taken apart once; k
// is taken apart in every step, by constants.

layout(constant_id = 10) const uint AXES = 2;
layout(constant_id = 11) const uint TAPS_X = 3;   // of a filter
layout(constant_id = 12) const uint TAPS_Y = 3;
layout(constant_id = 13) const uint TAPS_Z = 1;
layout(constant_id = 14) const uint STRIDE_X = 1; // between places
layout(constant_id = 15) const uint STRIDE_Y = 1;
layout(constant_id = 16) const uint STRIDE_Z = 1;
layout(constant_id = 17) const uint STEP_X = 1;   // between taps
layout(constant_id = 18) const uint STEP_Y = 1;
layout(constant_id = 19) const uint STEP_Z = 1;
layout(constant_id = 20) const uint GAP_X = 1;    // between elements of the input
layout(constant_id = 21) const uint GAP_Y = 1;
layout(constant_id = 22) const uint GAP_Z = 1;

// Batches of the product are groups of a batch of the convolution. Places may
// run over batches too: ldb is between their inputs then.
#define PATCH_PARAMETERS                                                  \
    uint out_x, out_y, out_z;       /* places */                          \
    int low_x, low_y, low_z;        /* padding before the input */        \
    uint reach_x, reach_y, reach_z; /* the input, spread by its gaps */   \
    int at_x, at_y, at_z;           /* elements between neighbours */     \
    uint channel_at;                /* between channels */                \
    uint groups, group_at;          /* between the inputs of groups */

#define BATCH_A (batch % p.groups)

// Of filters of up to 32 taps, each invocation keeps a mask of those that see
// an element from each of its places.
const bool MASKED = TAPS_X * TAPS_Y * TAPS_Z <= 32 && GAP_X == 1 && GAP_Y == 1 && GAP_Z == 1;

// mask has a bit for each tap along an axis that sees an element.
uint mask(int see, uint taps, uint step, uint reach) {
    uint bits = 0;
    for (uint i = 0; i < taps; i++)
        if (uint(see + int(i * step)) < reach) bits |= 1u << i;
    return bits;
}

// spot is where tap 0 of channel 0 looks, along axes without gaps; see_x is how
// far along x that is.
#define TILE_LOCALS_B                                                            \
    int spot[V], see_x[V], see_y[V], see_z[V];                                   \
    uint sees[V];

#define TILE_BEGIN_B                                                             \
    [[unroll]] for (uint j = 0; j < V; j++) {                                    \
        uint n = min(n0 + minor_b + j, p.n - 1);                                 \
        const uint x = n % p.out_x;                                              \
        n /= p.out_x;                                                            \
        const uint y = AXES > 1 ? n % p.out_y : 0;                               \
        n /= AXES > 1 ? p.out_y : 1;                                             \
        const uint z = AXES > 2 ? n % p.out_z : 0;                               \
        n /= AXES > 2 ? p.out_z : 1;                                             \
        see_x[j] = int(x * STRIDE_X) - p.low_x;                                  \
        see_y[j] = int(y * STRIDE_Y) - p.low_y;                                  \
        see_z[j] = int(z * STRIDE_Z) - p.low_z;                                  \
        spot[j] = int(batch / p.groups * p.batch_b + batch % p.groups * p.group_at + n * p.ldb) \
            + (GAP_X == 1 ? see_x[j] * p.at_x : 0)                               \
            + (AXES > 1 && GAP_Y == 1 ? see_y[j] * p.at_y : 0)                   \
            + (AXES > 2 && GAP_Z == 1 ? see_z[j] * p.at_z : 0);                  \
        if (MASKED) {                                                            \
            const uint xs = mask(see_x[j], TAPS_X, STEP_X, p.reach_x);           \
            const uint ys = AXES > 1 ? mask(see_y[j], TAPS_Y, STEP_Y, p.reach_y) : 1; \
            const uint zs = AXES > 2 ? mask(see_z[j], TAPS_Z, STEP_Z, p.reach_z) : 1; \
            sees[j] = 0;                                                         \
            for (uint i = 0; i < TAPS_Z * TAPS_Y; i++)                           \
                if ((zs >> i / TAPS_Y & ys >> i % TAPS_Y & 1) != 0) sees[j] |= xs << i * TAPS_X; \
        }                                                                        \
    }

// look adds to an index what lies between elements along an axis, if there is
// an element.
bool look(int see, uint reach, uint gap, int at, inout int index) {
    if (uint(see) >= reach) return false;
    if (gap == 1) return true;
    index += see / int(gap) * at;
    return uint(see) % gap == 0;
}

#define TILE_LOAD_B(step, guard)                                                 \
    [[unroll]] for (uint i = 0; i < COUNT_B; i++) {                              \
        const int row = int(step * TILE_K + major_b + i * (THREADS / per_b)) - pad; \
        const uint k = uint(max(row, 0)) + k_begin;                              \
        const int x = int(k % TAPS_X * STEP_X);                                  \
        const int y = int(k / TAPS_X % TAPS_Y * STEP_Y);                         \
        const int z = int(k / (TAPS_X * TAPS_Y) % TAPS_Z * STEP_Z);              \
        const int from = int(k / (TAPS_X * TAPS_Y * TAPS_Z) * p.channel_at)      \
            + (GAP_X == 1 ? x * p.at_x : 0)                                      \
            + (AXES > 1 && GAP_Y == 1 ? y * p.at_y : 0)                          \
            + (AXES > 2 && GAP_Z == 1 ? z * p.at_z : 0);                         \
        [[unroll]] for (int j = 0; j < V; j++) {                                 \
            int index = spot[j] + from;                                          \
            bool seen = !guard || row >= 0;                                      \
            if (MASKED) {                                                        \
                seen = seen && (sees[j] >> k % (TAPS_X * TAPS_Y * TAPS_Z) & 1) != 0; \
            } else {                                                             \
                seen = seen && look(see_x[j] + x, p.reach_x, GAP_X, p.at_x, index); \
                if (AXES > 1) seen = seen && look(see_y[j] + y, p.reach_y, GAP_Y, p.at_y, index); \
                if (AXES > 2) seen = seen && look(see_z[j] + z, p.reach_z, GAP_Z, p.at_z, index); \
            }                                                                    \
            T v = T(0);                                                          \
            if (seen) v = T(B_ONE(index));                                       \
            next_b[i][j] = v;                                                    \
        }                                                                        \
    }
