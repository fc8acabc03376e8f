// Patches of a convolution as an operand of matrix.glsl, without laying them out. The input is
// {batch, z, y, x, channels}, with its padding in memory; a patch has, for each tap, the channels
// there, which are contiguous and whole vectors. So k counts taps and channels, channels
// innermost, and rows of the operand are places: batch, z, y and x, x innermost.

layout(constant_id = 12) const uint GATHERED = 2;       // 1: A is gathered, 2: B is
layout(constant_id = 13) const uint CHANNELS_FIRST = 0; // 1: results of an image are {filter, y, x}

#define PLACE_PARAMETERS                                                  \
    uint channels;                  /* of a tap */                        \
    uint taps_x, taps_y;                                                  \
    uint tap_x, tap_y, tap_z;       /* elements between taps */           \
    uint out_x, out_y, out_z;       /* places */                          \
    uint place_x, place_y, place_z; /* elements between places */         \
    uint image;                     /* elements between batches */

// Where the patch of a place begins.
#define PLACE(n)                                                          \
    int((n) / (p.out_x * p.out_y * p.out_z) * p.image + (n) / (p.out_x * p.out_y) % p.out_z * p.place_z + \
        (n) / p.out_x % p.out_y * p.place_y + (n) % p.out_x * p.place_x)

// The tap that an invocation reads, and the channel of it. Before the beginning of k the channel is
// negative.
#define PLACE_LOCALS                                                      \
    int channel;                                                          \
    uint tap, line; /* along x and y */                                   \
    uint tap_at;    /* elements from the beginning of the patch */

#define PLACE_BEGIN(k)                                                    \
    {                                                                     \
        const uint from = uint(max(k, 0)) / p.channels;                   \
        channel = (k) < 0 ? (k) : int(uint(k) % p.channels);              \
        tap = from % p.taps_x;                                            \
        line = from / p.taps_x % p.taps_y;                                \
        tap_at = from / p.taps_x / p.taps_y * p.tap_z + line * p.tap_y + tap * p.tap_x; \
    }

#define PLACE_AT ((int(tap_at) + channel) / E)

#define PLACE_NEXT                                                        \
    channel += int(TILE_K);                                               \
    while (channel >= int(p.channels)) {                                  \
        channel -= int(p.channels);                                       \
        tap++;                                                            \
        tap_at += p.tap_x;                                                \
        if (tap == p.taps_x) {                                            \
            tap = 0;                                                      \
            line++;                                                       \
            tap_at += p.tap_y - p.taps_x * p.tap_x;                       \
            if (line == p.taps_y) {                                       \
                line = 0;                                                 \
                tap_at += p.tap_z - p.taps_y * p.tap_y;                   \
            }                                                             \
        }                                                                 \
    }
