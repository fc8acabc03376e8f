#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/matrix_version.glsl"
#include "lib/operands.glsl"
#include "lib/attention_gradient.glsl"

// The gradient of attention on matrix hardware. See synth/attention/gradient.
//
// A workgroup owns TILE rows of one side, and goes through blocks of rows of the other one, which go by way of registers
// through shared memory. Each subgroup has MM of the rows: their operands, and sums of results, in registers. For MN streamed
// rows it computes a matrix of S and one of X, the expressions of their elements, and adds the rows by these.
//
// Which elements of a matrix an invocation has is the device's affair: the loads of `places` tell it. Results are added to
// by one subgroup, in the order of the rows.

// synth/spirv.SpliceCalls has the code of a program in the place of these functions: the expression n of an element of S and one
// of X, and the numbers of its query; and number n of a query. Rows are queries, columns keys.
float root(const uint n, const uint z, const uint row, const uint column, const float s, const float x, const float a, const float b,
           const float c, const float d, const float e, const float f, const float g, const float h) { return n == 0 ? s : x; }
float of_query(const uint n, const uint z, const uint row) { return 0; }

// GIVE_NUMBERS computes the numbers of the queries from one on.
#define GIVE_NUMBERS(from, count)                                                                           \
    for (uint y = gl_LocalInvocationIndex; y < QUERIES; y += THREADS)                                       \
        [[unroll]] for (uint n = 0; n < NUMBERS; n++) numbers[n * QUERIES + y] = of_query(n, z, min((from) + y, (count) - 1));

// OWN has the operand of the subgroup's own rows in registers.
#define OWN(to, operand, lies, per, pitch, columns, count)                                                  \
    {                                                                                                       \
        const uint base = BASE_OF(lies, z);                                                                 \
        barrier();                                                                                          \
        for (uint e = gl_LocalInvocationIndex; e < TILE * per; e += THREADS) {                              \
            const uint y = min(first + e / per, p.owners - 1), x = e % per;                                 \
            slices[e / per * pitch + x] = x < (columns + E - 1) / E ? operand.v[base + y * lies.row + x] : uvec4(0); \
        }                                                                                                   \
        barrier();                                                                                          \
        [[unroll]] for (uint k = 0; k < count; k++)                                                         \
            coopMatLoad(to[k], slices, warp * MM * pitch + k * MN / E, pitch, gl_CooperativeMatrixLayoutRowMajor); \
    }

// MULTIPLY has products of the own rows with MN rows of shared memory.
#define MULTIPLY(to, own_rows, at, pitch, count)                                                            \
    to = Sums(0.0);                                                                                         \
    [[unroll]] for (uint k = 0; k < count; k++) {                                                           \
        MatrixB b;                                                                                          \
        coopMatLoad(b, slices, (at) + k * MN / E, pitch, gl_CooperativeMatrixLayoutColumnMajor);            \
        to = coopMatMulAdd(own_rows[k], b, to);                                                             \
    }

// ADD adds MN rows of shared memory by weights.
#define ADD(sums, weights, at, pitch, count)                                                                \
    {                                                                                                       \
        MatrixA a;                                                                                          \
        AS_OPERAND(a, weights, own, invocation)                                                             \
        [[unroll]] for (uint k = 0; k < count; k++) {                                                       \
            MatrixB b;                                                                                      \
            coopMatLoad(b, slices, (at) + k * MN / E, pitch, gl_CooperativeMatrixLayoutRowMajor);           \
            sums[k] = coopMatMulAdd(a, b, sums[k]);                                                         \
        }                                                                                                   \
    }

// LEAVE stores the sums of a result.
#define LEAVE(to, kind, across, sums, columns, count)                                                       \
    [[unroll]] for (uint n = 0; n < count; n++) {                                                           \
        together();                                                                                         \
        coopMatStore(sums[n], slices, warp * MM * LEAVE_ROW, LEAVE_ROW, gl_CooperativeMatrixLayoutRowMajor); \
        together();                                                                                         \
        leave(to, kind, across, warp * MM * LEAVE_ROW, invocation, uvec2(mine, n * MN), columns, z);        \
    }

// JOINED is a fold with one element more.
#define JOINED(total, most, f) (!(most) ? total + f : f > total || isnan(f) ? f : total)

// PUT joins what invocations have of the folds of rows, and stores them.
#define PUT(to, kind, most, total)                                                                          \
    coopMatStore(total, scratch, own / 4, MN / 4, gl_CooperativeMatrixLayoutRowMajor);                      \
    reduced(own, invocation, !(most));                                                                      \
    for (uint y = invocation; y < MM && mine + y < p.owners; y += SUBGROUP)                                 \
        put(to, kind, z * p.owners + mine + y, uintBitsToFloat(WORD(own + y)));                             \
    together();

void main() {
    const uint group = gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
    if (group >= p.groups) return;
    const uint warp = gl_SubgroupID, invocation = gl_SubgroupInvocationID;
    const uint z = group / p.blocks, first = group % p.blocks * TILE, mine = first + warp * MM;
    const uint base_k = BASE_OF(p.at_k, z), base_v = BASE_OF(p.at_v, z);
    const uint own = warp * MM * MN; // of the subgroup's scratch

    for (uint e = gl_LocalInvocationIndex; e < MM * MN; e += THREADS) places[e / 4][e % 4] = e;
    MatrixA own_k[DK], own_v[DV];
    OWN(own_k, p.own_k, p.at_own_k, ROW_K, PITCH_K, p.depth, DK)
    if (INNER) OWN(own_v, p.own_v, p.at_own_v, ROW_V, PITCH_V, p.width, DV)

    Sums fold_v = Sums(MOST_V ? -INFINITE : 0.0), fold_k = Sums(MOST_K ? -INFINITE : 0.0), by_v[DV], by_k[DK];
    [[unroll]] for (uint n = 0; n < DV; n++) by_v[n] = Sums(0.0);
    [[unroll]] for (uint n = 0; n < DK; n++) by_k[n] = Sums(0.0);

    if (!OF_KEYS) GIVE_NUMBERS(first, p.owners)

    // A round computes with the block that is in shared memory while the next one comes. The first round
    // has none yet, so that the code which fetches a block is there once.
    uvec4 next_k[COUNT_K], next_v[COUNT_V];
    uint begin = p.streamed, from = 0;
    [[dont_unroll]] while (true) {
        FETCH(next_k, p.k, base_k, p.at_k.row, ROW_K, COUNT_K, (p.depth + E - 1) / E, true)
        if (INNER || !FOLDS && ROOT_V) { FETCH(next_v, p.v, base_v, p.at_v.row, ROW_V, COUNT_V, (p.width + E - 1) / E, true) }

        [[dont_unroll]] for (uint j = 0; j < KT && begin + j * MN < p.streamed; j += TILES) {
            Sums s[TILES], x[TILES], at;
            [[unroll]] for (uint i = 0; i < TILES; i++) {
                MULTIPLY(s[i], own_k, (j + i) * MN * PITCH_K, PITCH_K, DK)
                x[i] = Sums(0.0);
                if (INNER) { MULTIPLY(x[i], own_v, SIZE_K + (j + i) * MN * PITCH_V, PITCH_V, DV) }
            }
            coopMatLoad(at, places, 0, MN / 4, gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint c = 0; c < at.length(); c++) {
                const uint place = uint(at[c]), y = min(mine + place / MN, p.owners - 1);
                [[unroll]] for (uint i = 0; i < TILES; i++) {
                    const uint other = begin + (j + i) * MN + place % MN, o = min(other, p.streamed - 1);
                    const uint row = OF_KEYS ? o : y, column = OF_KEYS ? y : o;
                    const bool inside = other < p.streamed;
                    const uint query = OF_KEYS ? (j + i) * MN + place % MN : warp * MM + place / MN;
                    const float v = ROOT_V ? root(0, z, row, column, s[i][c], x[i][c], ALL_NUMBERS(query)) : 0;
                    const float k = ROOT_K ? root(1, z, row, column, s[i][c], x[i][c], ALL_NUMBERS(query)) : 0;
                    if (FOLDS) {
                        fold_v[c] = inside ? JOINED(fold_v[c], MOST_V, v) : fold_v[c];
                        fold_k[c] = inside ? JOINED(fold_k[c], MOST_K, k) : fold_k[c];
                    }
                    s[i][c] = inside ? v : 0;
                    x[i][c] = inside ? k : 0;
                }
            }
            if (!FOLDS)
                [[unroll]] for (uint i = 0; i < TILES; i++) {
                    if (ROOT_V) ADD(by_v, s[i], SIZE_K + (j + i) * MN * PITCH_V, PITCH_V, DV)
                    if (ROOT_K) ADD(by_k, x[i], (j + i) * MN * PITCH_K, PITCH_K, DK)
                }
        }

        if (from >= p.streamed) break;
        barrier();
        STORE(0, next_k, ROW_K, PITCH_K, COUNT_K)
        if (INNER || !FOLDS && ROOT_V) { STORE(SIZE_K, next_v, ROW_V, PITCH_V, COUNT_V) }
        if (OF_KEYS) GIVE_NUMBERS(from, p.streamed)
        barrier();
        begin = from;
        from += KEYS;
    }

    barrier();
    if (FOLDS && ROOT_V) { PUT(p.by_v, KIND_V, MOST_V, fold_v) }
    if (FOLDS && ROOT_K) { PUT(p.by_k, KIND_K, MOST_K, fold_k) }
    if (!FOLDS && ROOT_V) { LEAVE(p.by_v, KIND_V, ACROSS_V, by_v, p.width, DV) }
    if (!FOLDS && ROOT_K) { LEAVE(p.by_k, KIND_K, ACROSS_K, by_k, p.depth, DK) }
}
