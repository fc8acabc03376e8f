// B as the patches that the filters of a convolution see: row k is a tap of a
// channel, column n a place, and neither is in memory. The element is looked up
// in the input, which a filter sees across strides, padding and dilations, along
// one to three axes of space (x the innermost). PATCHES is 2 or 3: the axes there
// are parameters for; those that are missing have one place and one tap.
//
// The places of the V columns that an invocation loads are taken apart once; k
// is taken apart in every step. What filters and inputs look like are parameters,
// so that one kernel serves all convolutions.

layout(constant_id = 10) const uint MASKED = 1; // 1: each invocation keeps a mask of the taps that see an element, of at most 32
layout(constant_id = 11) const uint GAPPED = 0; // 1: the elements of the input lie apart, not the places
layout(constant_id = 12) const uint SIDE = 0;   // how many taps a filter has along each axis, where that is known

// Batches of the product are groups of a batch of the convolution. Places may
// run over batches too: ldb is between their inputs then.
#if PATCHES == 3
#define PATCH_Z uint out_z, reach_z, taps_z, walk_z; int at_z;
#else
#define PATCH_Z
#endif
#define PATCH_PARAMETERS                                                  \
    uint out_x, out_y;         /* places */                               \
    uint reach_x, reach_y;     /* the input, spread by its gaps */        \
    uint taps_x, taps_y;       /* of a filter; above, padding before the input */ \
    uint walk_x, walk_y;       /* between taps; above, between places or elements */ \
    int at_x, at_y;            /* elements between neighbours */          \
    uint channel_at;           /* between channels */                     \
    uint groups, group_at;     /* between the inputs of groups */         \
    PATCH_Z

#define BATCH_A (batch % p.groups)

uint lower(uint halves) { return halves & 0xffff; }
uint upper(uint halves) { return halves >> 16; }
int padding(uint halves) { return int(halves) >> 16; }

// mask has a bit for each tap along an axis that sees an element.
uint mask(int see, uint taps, uint step, uint reach) {
    uint bits = 0;
    [[dont_unroll]] for (uint i = 0; i < taps; i++)
        if (uint(see + int(i * step)) < reach) bits |= 1u << i;
    return bits;
}

// divide takes k apart, which is below 2^31: part is the rest of the division by n,
// of which part_of is (2^32 - 1) / n.
uint divide(uint k, uint n, uint part_of, out uint part) {
    if (SIDE != 0) { // divisions by constants are as fast
        part = k % n;
        return k / n;
    }
    uint quotient, low;
    umulExtended(k, part_of, quotient, low);
    part = k - quotient * n;
    const bool more = part >= n;
    part -= more ? n : 0;
    return quotient + (more ? 1 : 0);
}

// look reports whether there is an element so far along an axis, and adds to an index
// what lies before it. It has no branches, of which a kernel would have a hundred.
bool look(int see, uint reach, uint gap, uint part_of, int at, inout int index) {
    const bool within = uint(see) < reach;
    if (GAPPED == 0) return within;
    uint between;
    index += int(divide(within ? see : 0, gap, part_of, between)) * at;
    return within && between == 0;
}

// What a third axis adds.
#if PATCHES == 3
#define LOCALS_Z                                                                 \
    int see_z[V];                                                                \
    const uint all_z = SIDE != 0 ? SIDE : lower(p.taps_z), part_z = 0xffffffffu / all_z;            \
    const uint gap_z = GAPPED != 0 ? 0xffffffffu / upper(p.walk_z) : 0;          \
    const int pitch_z = int(lower(p.walk_z)) * p.at_z;
#define BEGIN_Z                                                                  \
    const uint z = n % p.out_z;                                                  \
    n /= p.out_z;                                                                \
    see_z[j] = int(z * (GAPPED != 0 ? 1 : upper(p.walk_z))) - padding(p.taps_z); \
    spot[j] += GAPPED != 0 ? 0 : see_z[j] * p.at_z;
#define MASK_Z                                                                   \
    const uint zs = mask(see_z[j], all_z, lower(p.walk_z), p.reach_z), ys = rows; \
    rows = 0;                                                                    \
    [[dont_unroll]] for (uint i = 0; i < all_z; i++)                             \
        if ((zs >> i & 1) != 0) rows |= ys << i * all_y;
#define ROW_Z                                                                    \
    uint z;                                                                      \
    channel = divide(channel, all_z, part_z, z);                                 \
    taps *= all_z;                                                               \
    from += GAPPED != 0 ? 0 : int(z) * pitch_z;
#define LOOK_Z                                                                   \
    const bool along_z = look(see_z[j] + int(z * lower(p.walk_z)), p.reach_z, upper(p.walk_z), gap_z, p.at_z, index); \
    seen = seen && along_z;
#else
#define LOCALS_Z
#define BEGIN_Z
#define MASK_Z
#define ROW_Z
#define LOOK_Z
#endif

// spot is where tap 0 of channel 0 looks where elements have no gaps; see_x is how
// far along x that is.
#define TILE_LOCALS_B                                                            \
    int spot[V], see_x[V], see_y[V];                                             \
    uint sees[V];                                                                \
    const uint all_x = SIDE != 0 ? SIDE : lower(p.taps_x), all_y = SIDE != 0 ? SIDE : lower(p.taps_y); \
    const uint part_x = 0xffffffffu / all_x, part_y = 0xffffffffu / all_y;       \
    const uint gap_x = GAPPED != 0 ? 0xffffffffu / upper(p.walk_x) : 0;          \
    const uint gap_y = GAPPED != 0 ? 0xffffffffu / upper(p.walk_y) : 0;          \
    const int pitch_x = int(lower(p.walk_x)) * p.at_x, pitch_y = int(lower(p.walk_y)) * p.at_y; \
    LOCALS_Z

#define TILE_BEGIN_B                                                             \
    [[unroll]] for (uint j = 0; j < V; j++) {                                    \
        uint n = min(n0 + minor_b + j, p.n - 1);                                 \
        const uint x = n % p.out_x;                                              \
        n /= p.out_x;                                                            \
        const uint y = n % p.out_y;                                              \
        n /= p.out_y;                                                            \
        see_x[j] = int(x * (GAPPED != 0 ? 1 : upper(p.walk_x))) - padding(p.taps_x); \
        see_y[j] = int(y * (GAPPED != 0 ? 1 : upper(p.walk_y))) - padding(p.taps_y); \
        spot[j] = GAPPED != 0 ? 0 : see_x[j] * p.at_x + see_y[j] * p.at_y;       \
        BEGIN_Z                                                                  \
        spot[j] += int(batch / p.groups * p.batch_b + batch % p.groups * p.group_at + n * p.ldb); \
        sees[j] = 0;                                                             \
        if (MASKED != 0) {                                                       \
            const uint xs = mask(see_x[j], all_x, lower(p.walk_x), p.reach_x);   \
            uint rows = mask(see_y[j], all_y, lower(p.walk_y), p.reach_y);       \
            MASK_Z                                                               \
            [[dont_unroll]] for (uint at = 0; rows != 0; rows >>= 1, at += all_x) \
                if ((rows & 1) != 0) sees[j] |= xs << at;                        \
        }                                                                        \
    }

#define TILE_LOAD_B(step, guard)                                                 \
    [[unroll]] for (uint i = 0; i < COUNT_B; i++) {                              \
        const int row = int(step * TILE_K + major_b + i * (THREADS / per_b)) - pad; \
        const uint k = uint(max(row, 0)) + k_begin;                              \
        uint x, y, channel = divide(divide(k, all_x, part_x, x), all_y, part_y, y); \
        uint taps = all_x * all_y;                                               \
        int from = GAPPED != 0 ? 0 : int(x) * pitch_x + int(y) * pitch_y;        \
        ROW_Z                                                                    \
        from += int(channel * p.channel_at);                                     \
        const uint tap = k - channel * taps;                                     \
        [[unroll]] for (int j = 0; j < V; j++) {                                 \
            int index = spot[j] + from;                                          \
            bool seen = !guard || row >= 0;                                      \
            if (MASKED != 0) {                                                   \
                seen = seen && (sees[j] >> tap & 1) != 0;                        \
            } else {                                                             \
                const bool along_x = look(see_x[j] + int(x * lower(p.walk_x)), p.reach_x, upper(p.walk_x), gap_x, p.at_x, index); \
                const bool along_y = look(see_y[j] + int(y * lower(p.walk_y)), p.reach_y, upper(p.walk_y), gap_y, p.at_y, index); \
                seen = seen && along_x && along_y;                               \
                LOOK_Z                                                           \
            }                                                                    \
            T v = T(0);                                                          \
            if (seen) v = T(B_ONE(index));                                       \
            next_b[i][j] = v;                                                    \
        }                                                                        \
    }
