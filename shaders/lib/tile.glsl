// A tile of a matrix product C = A·B: how its invocations share the work, how
// slices of A and B come to shared memory, and how the sums leave.
//
// A workgroup computes TILE_M × TILE_N results in steps of TILE_K. Each group
// of 32 invocations ("warp", though nothing here depends on subgroups) holds
// 8 × 4 invocations, each of ROWS × COLS results in blocks of V × V. Member i
// shares its row with i^1 and its columns with i^2, which makes both kinds of
// shared load cost one pass on NVIDIA.
//
// The kernel says how, before it includes this file: TILE_ADVANCE whether the
// places of loads move on with every step (TILE_ON: how far) or follow from its number,
// TILE_SWIZZLE how transposed slices are spread over the banks, TILE_MULTIPLY in
// which order an invocation adds the products of one k. None changes a result.
// What a compiler schedules best was found by measuring them all on an H200:
// the order alone is worth up to a tenth, where rounds of an inner loop that
// turn back at its ends let registers just read be read again.
//
// Every sum is the plain chain c = a[k]·b[k] + c in the order of k, from +0,
// so that all tile sizes and all schedules give the same bits.
//
// Edges cost nothing in the main loop: the last tiles of a row or column are
// moved back to end where the matrix ends (results in the overlap are computed
// twice, to the same bits), and k is padded with zeros before its beginning,
// where only the loads ahead of the loop look. A matrix smaller than the tile
// takes CLAMP: loads repeat the last row or column, stores leave it out.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint ROWS = 8;      // of results, an invocation
layout(constant_id = 2) const uint COLS = 8;      // of results, an invocation
layout(constant_id = 3) const uint WARPS_M = 1;   // a workgroup
layout(constant_id = 4) const uint WARPS_N = 4;   // a workgroup
layout(constant_id = 5) const uint TILE_K = 16;
layout(constant_id = 6) const uint A_ACROSS = 0;  // 0: A is contiguous in k, 1: in m
layout(constant_id = 7) const uint B_ACROSS = 0;  // 0: B is contiguous in n, 1: in k
layout(constant_id = 8) const uint ALIGNED = 7;   // bits: rows of A, B, C begin at 16 bytes; 8: see DIRECT
layout(constant_id = 9) const uint CLAMP = 0;     // 1: M or N is smaller than the tile

#define PARAMETERS                                                        \
    uint m, n, k;                                                         \
    uint lda, ldb;             /* elements between rows of storage */     \
    uint batch_a, batch_b;     /* elements between matrices */            \
    uint batches;              /* in all; chunks of k repeat them */      \
    uint first;                /* the batch of workgroup z = 0 */         \
    uint start;                /* the tile of workgroup 0 */              \
    uint chunk;                /* k a workgroup sums: k, or a share */    \
    PATCH_PARAMETERS

// B is a matrix, or what patches.glsl makes of the input of a convolution.
#if defined(PATCHES)
#include "patches.glsl"
#else
#define PATCH_PARAMETERS
#define BATCH_A batch
#define TILE_LOCALS_B TILE_MATRIX_LOCALS_B
#define TILE_BEGIN_B TILE_MATRIX_BEGIN_B
#define TILE_LOAD_B TILE_MATRIX_LOAD_B
#endif

#include "memory.glsl"

const uint THREADS = 32 * WARPS_M * WARPS_N;
const uint TILE_M = 8 * ROWS * WARPS_M;
const uint TILE_N = 4 * COLS * WARPS_N;
const uint QM = ROWS / V; // blocks of V rows, an invocation
const uint QN = COLS / V;

// Rows of shared memory, in vectors, hold one k. To spread the stores of a slice
// that is transposed on its way in over the banks, its rows get one vector of
// padding, or the vectors of a row change places by the k of the row.
const uint WIDTH_A = TILE_M / V + (TILE_SWIZZLE ? 0 : 1 - A_ACROSS);
const uint WIDTH_B = TILE_N / V + (TILE_SWIZZLE ? 0 : B_ACROSS);

uint swizzle(uint vector, uint k, uint transposed) {
    return TILE_SWIZZLE && transposed != 0 ? vector ^ k / V * (8 * V / TILE_K) : vector;
}
const uint COUNT_A = TILE_M * TILE_K / V / THREADS; // vectors an invocation moves
const uint COUNT_B = TILE_N * TILE_K / V / THREADS;

const bool ALIGNED_A = (ALIGNED & 1) != 0;
const bool ALIGNED_B = (ALIGNED & 2) != 0;
const bool ALIGNED_C = (ALIGNED & 4) != 0;
const bool DIRECT = (ALIGNED & 12) == 12; // invocations store their own sums
const bool FOURS = (ALIGNED & 20) == 20;  // results leave in fours of vectors
const int UNIT_A = ALIGNED_A ? V : 1; // elements that one index counts
const int UNIT_B = ALIGNED_B ? V : 1;

// fetch_a and fetch_b load V consecutive elements from index i, which counts
// vectors where these are aligned. Elements whose k lies before the beginning are
// zero where guard says that there may be any; room is how far the row may be
// followed before its last element repeats. No element decides about a branch: a
// driver makes a block of each, and takes minutes for a kernel of them.
#define FETCH(name, one, vec, any, aligned, across_k)                            \
    TV name(int i, int k, uint room, bool guard) {                               \
        if (aligned) {                                                           \
            if (guard && k < 0) return TV(0);                                    \
            return vec(i);                                                       \
        }                                                                        \
        if (!guard && (across_k || CLAMP == 0)) return any(uint(i));             \
        TV v;                                                                    \
        [[unroll]] for (int j = 0; j < V; j++) {                                 \
            const bool within = !guard || (across_k ? k + j : k) >= 0;           \
            const int at = i + (across_k || CLAMP == 0 ? j : int(min(uint(j), room))); \
            const T x = one(within ? at : 0);                                    \
            v[j] = within ? x : T(0);                                            \
        }                                                                        \
        return v;                                                                \
    }

FETCH(fetch_a, A_ONE, A_VEC, A_ANY, ALIGNED_A, (A_ACROSS == 0))
FETCH(fetch_b, B_ONE, B_VEC, B_ANY, ALIGNED_B, (B_ACROSS == 1))

// The place of each invocation, and what it moves. Everything lives in locals
// of main: arrays at file scope cost moves in every round of the loop.
#define TILE_LOCALS                                                              \
    const uint tid = gl_LocalInvocationIndex;                                    \
    const uint member = tid & 31, warp = tid >> 5;                               \
    const uint z = gl_WorkGroupID.z + p.first;                                   \
    const uint batch = z % p.batches;                                            \
    const uint k_begin = (z / p.batches) * p.chunk;                              \
    const int k_count = int(min(p.chunk, p.k - k_begin));                        \
    /* tiles form one row, n fastest, folded into a grid of two dimensions */    \
    const uint tile = p.start + gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; \
    const uint across = (p.n + TILE_N - 1) / TILE_N;                             \
    if (tile / across * TILE_M >= p.m) return;                                   \
    const uint m0 = tile_origin(tile / across * TILE_M, p.m, TILE_M);            \
    const uint n0 = tile_origin(tile % across * TILE_N, p.n, TILE_N);            \
    /* first vector of the fragments in a row of shared memory */                \
    const uint row = (warp % WARPS_M) * 8 * QM + ((member >> 1) & 7);            \
    const uint col = (warp / WARPS_M) * 4 * QN + ((member & 1) | (member >> 4) << 1);\
    precise T sum[ROWS * COLS];                                                  \
    [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) sum[i] = T(0);             \
    TV next_a[COUNT_A], next_b[COUNT_B]; /* on their way to shared memory */     \
    int at_a[COUNT_A];                   /* where they are, in units */          \
    uint room_a[COUNT_A];                                                        \
    const uint per_a = A_ACROSS == 0 ? TILE_K / V : TILE_M / V;                  \
    const uint per_b = B_ACROSS == 1 ? TILE_K / V : TILE_N / V;                  \
    const uint minor_a = (tid % per_a) * V, major_a = tid / per_a;               \
    const uint minor_b = (tid % per_b) * V, major_b = tid / per_b;               \
    const int step_a = int(A_ACROSS == 0 ? TILE_K : TILE_K * p.lda) / UNIT_A;    \
    TILE_LOCALS_B

#define TILE_MATRIX_LOCALS_B                                                     \
    int at_b[COUNT_B];                                                           \
    uint room_b[COUNT_B];                                                        \
    const int step_b = int(B_ACROSS == 1 ? TILE_K : TILE_K * p.ldb) / UNIT_B;

uint tile_origin(uint at, uint size, uint tile) {
    return CLAMP != 0 ? at : min(at, size - tile);
}

// TILE_BEGIN places the pads so that tiles steps of TILE_K end where k ends.
#define TILE_BEGIN(tiles)                                                        \
    const int pad = int(tiles * TILE_K) - k_count;                               \
    [[unroll]] for (uint i = 0; i < COUNT_A; i++) {                              \
        const uint major = major_a + i * (THREADS / per_a);                      \
        const uint x = m0 + (A_ACROSS == 0 ? major : minor_a);                   \
        const uint m = CLAMP != 0 ? min(x, last_start(p.m, ALIGNED_A, A_ACROSS != 0)) : x; \
        const int k = int(k_begin) - pad + int(A_ACROSS == 0 ? minor_a : major); \
        const int base = int(BATCH_A * p.batch_a);                               \
        at_a[i] = (A_ACROSS == 0 ? base + int(m * p.lda) + k                     \
                                 : base + k * int(p.lda) + int(m)) / UNIT_A;     \
        room_a[i] = p.m - 1 - m;                                                 \
    }                                                                            \
    TILE_BEGIN_B

#define TILE_MATRIX_BEGIN_B                                                      \
    [[unroll]] for (uint i = 0; i < COUNT_B; i++) {                              \
        const uint major = major_b + i * (THREADS / per_b);                      \
        const uint x = n0 + (B_ACROSS == 1 ? major : minor_b);                   \
        const uint n = CLAMP != 0 ? min(x, last_start(p.n, ALIGNED_B, B_ACROSS == 0)) : x; \
        const int k = int(k_begin) - pad + int(B_ACROSS == 1 ? minor_b : major); \
        const int base = int(batch * p.batch_b);                                 \
        at_b[i] = (B_ACROSS == 1 ? base + int(n * p.ldb) + k                     \
                                 : base + k * int(p.ldb) + int(n)) / UNIT_B;     \
        room_b[i] = p.n - 1 - n;                                                 \
    }

// last_start is the last element at which a load may begin: a vector along the
// row must lie inside it.
uint last_start(uint size, bool aligned, bool along) {
    return size - (aligned && along ? V : 1);
}

// TILE_LOAD reads a step of both operands. step counts from the first, and every one is
// loaded in its turn. Where a kernel loads the last again, its TILE_ON does not move
// places beyond that.
#define TILE_LOAD(step, guard)                                                   \
    [[unroll]] for (uint i = 0; i < COUNT_A; i++) {                              \
        const uint major = major_a + i * (THREADS / per_a);                      \
        const int k = int(step * TILE_K + (A_ACROSS == 0 ? minor_a : major)) - pad; \
        next_a[i] = fetch_a(TILE_ADVANCE ? at_a[i] : at_a[i] + int(step) * step_a,   \
                            k, room_a[i], guard);                                \
        if (TILE_ADVANCE) at_a[i] += TILE_ON(step, step_a);                      \
    }                                                                            \
    TILE_LOAD_B(step, guard)

#define TILE_MATRIX_LOAD_B(step, guard)                                          \
    [[unroll]] for (uint i = 0; i < COUNT_B; i++) {                              \
        const uint major = major_b + i * (THREADS / per_b);                      \
        const int k = int(step * TILE_K + (B_ACROSS == 1 ? minor_b : major)) - pad; \
        next_b[i] = fetch_b(TILE_ADVANCE ? at_b[i] : at_b[i] + int(step) * step_b,   \
                            k, room_b[i], guard);                                \
        if (TILE_ADVANCE) at_b[i] += TILE_ON(step, step_b);                      \
    }

// TILE_STORE writes what TILE_LOAD read to the given half of shared memory,
// rows by k.
#define TILE_STORE(half)                                                         \
    [[unroll]] for (uint i = 0; i < COUNT_A; i++) {                              \
        const uint major = major_a + i * (THREADS / per_a);                      \
        const uint to = (half) * TILE_K * WIDTH_A;                               \
        if (A_ACROSS == 1) {                                                     \
            shared_a[to + major * WIDTH_A + minor_a / V] = next_a[i];            \
        } else {                                                                 \
            [[unroll]] for (uint j = 0; j < V; j++)                              \
                shared_a[to + (minor_a + j) * WIDTH_A + swizzle(major / V, minor_a, 1)]       \
                    [major % V] = next_a[i][j];                                  \
        }                                                                        \
    }                                                                            \
    [[unroll]] for (uint i = 0; i < COUNT_B; i++) {                              \
        const uint major = major_b + i * (THREADS / per_b);                      \
        const uint to = (half) * TILE_K * WIDTH_B;                               \
        if (B_ACROSS == 0) {                                                     \
            shared_b[to + major * WIDTH_B + minor_b / V] = next_b[i];            \
        } else {                                                                 \
            [[unroll]] for (uint j = 0; j < V; j++)                              \
                shared_b[to + (minor_b + j) * WIDTH_B + swizzle(major / V, minor_b, 1)]       \
                    [major % V] = next_b[i][j];                                  \
        }                                                                        \
    }

// TILE_FRAGMENT reads what one k of a half gives this invocation.
#define TILE_FRAGMENT(fa, fb, half, k)                                           \
    [[unroll]] for (uint q = 0; q < QM; q++)                                     \
        fa[q] = shared_a[((half) * TILE_K + (k)) * WIDTH_A + swizzle(row + q * 8, k, 1 - A_ACROSS)]; \
    [[unroll]] for (uint q = 0; q < QN; q++)                                     \
        fb[q] = shared_b[((half) * TILE_K + (k)) * WIDTH_B + swizzle(col + q * 4, k, B_ACROSS)];

// TILE_PRODUCT adds one product to its sum.
#define TILE_PRODUCT(fa, fb, i, j)                                               \
    sum[(i) * COLS + (j)] =                                                      \
        MULADD(fa[(i) / V][(i) % V], fb[(j) / V][(j) % V], sum[(i) * COLS + (j)]);

// Sums leave by way of shared memory, which hands them to invocations in the order
// of the result: each round takes one row of every invocation of STAGED warps. So
// the code that stores, and whatever has come into its place (see memory.glsl), is
// there once, where an invocation that stores its own sums has it for each of
// them, and drivers take as much longer as there is more of it. A direct store
// of whole vectors is a little faster.
const uint STAGED = TILE_HALVES * TILE_K / 8 < WARPS_M ? TILE_HALVES * TILE_K / 8 : WARPS_M;
const uint PART = ALIGNED_C ? V : 1; // elements that are stored at once

// TILE_END writes the sums. Chunks of k follow each other in c.
#define TILE_END                                                                 \
    if (DIRECT) {                                                                \
        TILE_END_DIRECT                                                          \
        return;                                                                  \
    }                                                                            \
    [[dont_unroll]] for (uint turn = 0; turn < ROWS * WARPS_M / STAGED; turn++) {   \
        const uint mine = turn % ROWS, first = turn / ROWS * STAGED;             \
        const uint slot = warp % WARPS_M - first;                                \
        barrier();                                                               \
        if (slot < STAGED) {                                                     \
            [[unroll]] for (uint i = 0; i < ROWS; i++) {                         \
                if (i != mine) continue;                                         \
                [[unroll]] for (uint q = 0; q < QN; q++) {                       \
                    TV v;                                                        \
                    [[unroll]] for (uint j = 0; j < V; j++) v[j] = sum[i * COLS + q * V + j]; \
                    shared_b[(slot * 8 + ((member >> 1) & 7)) * (TILE_N / V) + col + q * 4] = v; \
                }                                                                \
            }                                                                    \
        }                                                                        \
        barrier();                                                               \
        if (FOURS) {                                                             \
            TILE_END_FOURS                                                       \
            continue;                                                            \
        }                                                                        \
        [[dont_unroll]] for (uint e = tid; e < STAGED * 8 * TILE_N / PART; e += THREADS) { \
            const uint line = e / (TILE_N / PART), place = e % (TILE_N / PART) * PART; \
            const uint m = m0 + (((first + line / 8) * QM + mine / V) * 8 + line % 8) * V + mine % V; \
            const uint n = n0 + place;                                           \
            if (CLAMP != 0 && (m >= p.m || n >= p.n)) continue;                  \
            const uint at = (z * p.m + m) * p.n + n;                             \
            const TV v = shared_b[(line * TILE_N + place) / V];                  \
            if (ALIGNED_C) put_vec(at / V, v);                                   \
            else put_one(at, v[place % V]);                                      \
        }                                                                        \
    }

// TILE_END_FOURS has results leave in fours of vectors.
#define TILE_END_FOURS                                                           \
    const uint all = STAGED * 8 * TILE_N / V;                                    \
    [[dont_unroll]] for (uint one = tid; one < all; one += 4 * THREADS) {        \
        Leaving l;                                                               \
        l.any = false;                                                           \
        [[unroll]] for (uint k = 0; k < 4; k++) {                                \
            const uint e = one + k * THREADS < all ? one + k * THREADS : one;    \
            const uint line = e / (TILE_N / V), n = n0 + e % (TILE_N / V) * V;   \
            const uint m = m0 + (((first + line / 8) * QM + mine / V) * 8 + line % 8) * V + mine % V; \
            l.inside[k] = CLAMP == 0 || m < p.m && n < p.n;                      \
            l.any = l.any || l.inside[k];                                        \
            l.at[k] = ((z * p.m + m) * p.n + n) / V;                             \
            l.v[k] = shared_b[e];                                                \
        }                                                                        \
        put_leaving(l);                                                          \
    }

#define TILE_END_DIRECT                                                          \
    [[unroll]] for (uint i = 0; i < ROWS; i++) {                                 \
        const uint m = m0 + (row + (i / V) * 8) * V + i % V;                     \
        [[unroll]] for (uint q = 0; q < QN; q++) {                               \
            const uint n = n0 + (col + q * 4) * V;                               \
            if (CLAMP != 0 && (m >= p.m || n >= p.n)) continue;                  \
            TV v;                                                                \
            [[unroll]] for (uint j = 0; j < V; j++) v[j] = sum[i * COLS + q * V + j]; \
            put_vec(((z * p.m + m) * p.n + n) / V, v);                           \
        }                                                                        \
    }
