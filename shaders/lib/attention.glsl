// The memory of attention_matrix.comp: its parameters, shared memory, and the results. A row of queries or keys has p.depth
// vectors, a row of values p.width.

#include "attention_tiles.glsl"

layout(constant_id = 3) const uint FM = 2;      // matrices along the queries, a subgroup

const bool WHOLE = (FLAGS & 1) != 0;   // rows of results are whole vectors
const bool LOGITS = (FLAGS & 2) != 0;  // logits are more than scaled scores, or rows are wide
const bool SKIPS = (FLAGS & 4) != 0;   // a mask leaves whole tiles out
const bool DIVIDES = (FLAGS & 8) != 0; // scores are divided by the scale
const bool PARTED = (FLAGS & 64) != 0; // the keys of a query are divided among workgroups

layout(push_constant, std430) uniform Push {
    In q;
    In k;
    In v;
    OutVec c;
    uint queries, keys;
    uint depth, width;     // vectors of a row, and 2^16 times the parts of the keys; width counts elements
    uint blocks, groups;   // of queries in a matrix, and workgroups
    uint dim1, dim2;       // sizes of the inner axes of the batch
    Lies at_q, at_k, at_v;
    float scale;           // of scores
} p;

#define LIMIT p.keys
#define VECTORS (PARTED ? p.depth & 0xffff : p.depth)
#define PARTS (PARTED ? p.depth >> 16 : 1)

const uint TILE = MM * FM * WARPS; // queries of a workgroup

// Results leave LEAVE matrices of each subgroup at a time.
const uint LEAVE = DV % 4 == 0 ? 4 : DV % 3 == 0 ? 3 : DV % 2 == 0 ? 2 : 1;
const uint LEAVE_ROW = LEAVE * MN / 4 + 1;

// Queries come by way of shared memory, those of four subgroups at a time.
const uint STAGES = WARPS > 4 ? WARPS / 4 : 1;
const uint STAGE = TILE / STAGES;

const uint BLOCK = SIZE_K + KEYS * PITCH_V;
const uint BEGIN = STAGE * PITCH_K > WARPS * MM * LEAVE_ROW ? STAGE * PITCH_K : WARPS * MM * LEAVE_ROW;
shared uvec4 slices[BLOCK > BEGIN ? BLOCK : BEGIN]; // queries; then blocks of keys and values; then results
shared uint unsettled;

// leave stores a line of LEAVE matrices of the subgroup, which begin at a row and a column of
// matrix z of the results.
void leave(const uint from, const uint invocation, const uint row, const uint column, const uint z) {
    const uint line = LEAVE * MN / E;
    [[dont_unroll]] for (uint e = invocation; e < MM * line; e += SUBGROUP) {
        const uint m = row + e / line, n = column + e % line * E, at = from + e / line * LEAVE_ROW + e % line * (E / 4);
        if (m >= p.queries || n >= p.width) continue;
        const vec4 lo = uintBitsToFloat(slices[at]), hi = uintBitsToFloat(slices[at + 1]);
        const uvec4 x = uvec4(stored(lo.xy), stored(lo.zw), stored(hi.xy), stored(hi.zw));
        const uint to = (z * p.queries + m) * p.width + n;
        if (WHOLE) {
            p.c.v[to / E] = x;
        } else {
            [[dont_unroll]] for (uint i = 0; i < min(E, p.width - n); i++)
                OutOne(p.c).v[to + i] = uint16_t(x[i / 2] >> i % 2 * 16);
        }
    }
}

// A part of the keys of a query leaves WIDTH sums of f32, and a vector with its greatest logit and the sum of its weights.
const uint PART_LINE = WIDTH / 4 + 1;

uint part_of(const uint z, const uint row, const uint part) { return ((z * p.queries + row) * PARTS + part) * PART_LINE; }

// leave_sums is leave for a part.
void leave_sums(const uint from, const uint invocation, const uint row, const uint column, const uint z, const uint part) {
    const uint line = LEAVE * MN / 4;
    [[dont_unroll]] for (uint e = invocation; e < MM * line; e += SUBGROUP)
        if (row + e / line < p.queries) p.c.v[part_of(z, row + e / line, part) + column / 4 + e % line] = slices[from + e / line * LEAVE_ROW + e % line];
}

// leave_tail stores what else a part leaves: scratch has the maxima of MM rows from one on, total the sum of the weights of row
// invocation % MM of these.
void leave_tail(const uint base, const uint invocation, const uint row, const uint z, const uint part, const float scale, const float total) {
    const uint m = invocation % MM;
    if (invocation < MM && row + m < p.queries)
        p.c.v[part_of(z, row + m, part) + WIDTH / 4] = uvec4(floatBitsToUint(uintBitsToFloat(WORD(base + m * MN)) * scale), floatBitsToUint(total), 0, 0);
    together();
}
