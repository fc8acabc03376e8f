#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/version.glsl"
#include "lib/types.glsl"

// Products of many small matrices. A workgroup takes several of them. In steps of `span` of k it brings
// their operands to shared memory, in the order in which memory has them, and an invocation sums
// 2 × 2 results of one matrix.
//
// Order of a sum: the plain chain c = a[k]·b[k] + c in the order of k, from +0, as the tiles have it.
// Beyond the last k are zeros, which change no sum.
//
// Rows of shared memory hold the k of a row of A or of a column of B: `span` of them and a vector of padding,
// so that vectors of neighbouring rows lie in different banks.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint A_ACROSS = 0; // 0: neighbours of A in memory are those in k, 1: in m
layout(constant_id = 2) const uint B_ACROSS = 0; // 0: neighbours of B in memory are those in n, 1: in k
layout(constant_id = 3) const bool ALIGNED = false; // rows of storage begin at 16 bytes and hold whole vectors

#define PARAMETERS                                                    \
    uint m, n, k;                                                     \
    uint row_a, col_a;         /* elements between m and between k */ \
    uint row_b, col_b;         /* elements between k and between n */ \
    uint batch_a, batch_b;     /* elements between matrices */        \
    uint batches;              /* in all; chunks of k repeat them */  \
    uint chunk;                /* k an invocation sums: k, or a share */ \
    uint line;                 /* workgroups in a line of the grid */ \
    uint matrices;             /* of a workgroup */                   \
    uint shift;                /* 1 << shift is the span */

#include "lib/memory.glsl"

const uint THREADS = gl_WorkGroupSize.x;
const uint SHIFT = V / 2; // 1 << SHIFT is V
const uint ROOM = 8 * THREADS; // vectors of shared memory

shared TV slices[ROOM];

const uint AHEAD = 4; // vectors that an invocation loads before it stores the first

// quotient is e / d for e below 1 << 22; reciprocal is that of d.
uint quotient(const uint e, const float reciprocal) { return uint((float(e) + 0.5) * reciprocal); }

// BRING has the elements of `rows` rows of each matrix brought to shared memory, from vector `to` on. An invocation loads
// V neighbours at a time: in k or, with across, in the row.
#define BRING(one, vec, rows, stride, col, each, across, base, to)                              \
    {                                                                                           \
        const uint line = across ? (rows + V - 1) / V : span / V;                               \
        const uint size = across ? matrices * line * span : matrices * rows * line;             \
        const float by = 1.0 / float(across ? line : rows);                                     \
        for (uint e0 = t; e0 < size; e0 += AHEAD * THREADS) {                                   \
            TV x[AHEAD];                                                                        \
            uint at[AHEAD], room[AHEAD];                                                        \
            [[unroll]] for (uint u = 0; u < AHEAD; u++) {                                       \
                const uint e = min(e0 + u * THREADS, size - 1);                                 \
                const uint lines = across ? quotient(e, by) : e >> p.shift - SHIFT;             \
                const uint unit = (across ? e - lines * line : e & line - 1) * V;               \
                const uint matrix = across ? lines >> p.shift : quotient(lines, by);            \
                const uint row = across ? unit : lines - matrix * rows;                         \
                const uint k = across ? lines & span - 1 : unit;                                \
                const bool within = k0 + k < k_end;                                             \
                room[u] = across ? rows - unit : V;                                             \
                at[u] = across ? ((matrix * rows + row) * width + k / V) * V + k % V : lines * width + k / V; \
                const uint from = within ? base + matrix * each + row * stride + (k0 + k) * col : base; \
                if (ALIGNED) {                                                                  \
                    x[u] = vec(from / V);                                                       \
                } else {                                                                        \
                    const uint last = across ? room[u] : within ? k_end - k0 - k : 1;           \
                    [[unroll]] for (uint j = 0; j < V; j++)                                     \
                        x[u][j] = one(from + (within && j < last ? j * (across ? stride : col) : 0)); \
                    if (!across)                                                                \
                        [[unroll]] for (uint j = 1; j < V; j++) x[u][j] = j < last ? x[u][j] : T(0); \
                }                                                                               \
                if (!within) x[u] = TV(0);                                                      \
            }                                                                                   \
            [[unroll]] for (uint u = 0; u < AHEAD; u++) {                                       \
                if (!across) {                                                                  \
                    slices[to + at[u]] = x[u];                                                  \
                } else {                                                                        \
                    [[unroll]] for (uint j = 0; j < V; j++)                                     \
                        if (j < room[u]) slices[to + at[u] / V + j * width][at[u] % V] = x[u][j]; \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
    }

void main() {
    const uint t = gl_LocalInvocationIndex;
    const uint group = gl_WorkGroupID.y * p.line + gl_WorkGroupID.x;
    const uint groups = (p.batches + p.matrices - 1) / p.matrices; // of a share of k
    const uint k_begin = group / groups * p.chunk, k_end = min(k_begin + p.chunk, p.k);
    if (k_begin >= p.k) return;
    const uint batch = group % groups * p.matrices;
    const uint matrices = min(p.matrices, p.batches - batch);
    const uint span = 1 << p.shift, width = span / V + 1;
    const uint base_a = batch * p.batch_a, base_b = batch * p.batch_b;
    const uint begin_b = matrices * p.m * width; // of the columns of B in shared memory

    // An invocation has rows r and r + down, and columns c and c + right, of one matrix. The last repeat.
    const uint down = (p.m + 1) / 2, right = (p.n + 1) / 2;
    const uint mine = min(t / (down * right), matrices - 1), block = t % (down * right);
    const uint r = block / right, c = block % right;
    const uint r1 = min(r + down, p.m - 1), c1 = min(c + right, p.n - 1);
    const uint a0 = (mine * p.m + r) * width, a1 = (mine * p.m + r1) * width;
    const uint b0 = begin_b + (mine * p.n + c) * width, b1 = begin_b + (mine * p.n + c1) * width;

    precise T sum[4];
    [[unroll]] for (uint i = 0; i < 4; i++) sum[i] = T(0);
    for (uint k0 = k_begin; k0 < k_end; k0 += span) {
        barrier();
        BRING(A_ONE, A_VEC, p.m, p.row_a, p.col_a, p.batch_a, (A_ACROSS == 1), base_a, 0)
        BRING(B_ONE, B_VEC, p.n, p.col_b, p.row_b, p.batch_b, (B_ACROSS == 0), base_b, begin_b)
        barrier();
        const uint count = (min(span, k_end - k0) + V - 1) / V;
        for (uint q = 0; q < count; q++) {
            const TV x0 = slices[a0 + q], x1 = slices[a1 + q], y0 = slices[b0 + q], y1 = slices[b1 + q];
            [[unroll]] for (uint j = 0; j < V; j++) {
                sum[0] = MULADD(x0[j], y0[j], sum[0]);
                sum[1] = MULADD(x0[j], y1[j], sum[1]);
                sum[2] = MULADD(x1[j], y0[j], sum[2]);
                sum[3] = MULADD(x1[j], y1[j], sum[3]);
            }
        }
    }

    if (t >= matrices * down * right) return;
    const uint to = (group / groups * p.batches + batch + mine) * p.m * p.n;
    [[dont_unroll]] for (uint i = 0; i < 4; i++) {
        T x = sum[0];
        [[unroll]] for (uint j = 1; j < 4; j++) x = i == j ? sum[j] : x;
        put_one(to + (i < 2 ? r : r1) * p.n + (i % 2 == 0 ? c : c1), x);
    }
}
