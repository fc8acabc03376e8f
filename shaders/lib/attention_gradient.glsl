// The memory of attention_matrix_gradient.comp: its parameters, shared memory, and what it gives.
//
// The workgroup owns rows of one side: queries with the gradients of their results, or keys with their values. Rows of the
// other side are streamed. Rows of the operands of scores have p.depth elements, those of the other two p.width.

#include "attention_tiles.glsl"

layout(constant_id = 3) const uint TILES = 1; // tiles of a subgroup at once
layout(constant_id = 9) const uint NUMBERS = 0; // of each query, of which expressions take eight at most

const bool OF_KEYS = (FLAGS & 1) != 0;  // the workgroup owns keys
const bool INNER = (FLAGS & 2) != 0;    // X, the products by the values, is needed
const bool FOLDS = (FLAGS & 4) != 0;    // rows of what the roots give are folded; else rows are summed by them:
const bool ROOT_V = (FLAGS & 64) != 0;  // there is root 0, for rows of values or of what is for them, or the first fold
const bool ROOT_K = (FLAGS & 128) != 0; // there is root 1, for rows of keys or queries, or the second fold
const bool MOST_V = (FLAGS & 8) != 0, MOST_K = (FLAGS & 256) != 0; // a fold is the maximum, not the sum

// How elements of results lie: as 16 bits, or as f32 or u32; and whether their rows are the last dimension.
const uint KIND_V = FLAGS >> 9 & 3, KIND_K = FLAGS >> 11 & 3;
const bool ACROSS_V = (FLAGS & 1 << 13) != 0, ACROSS_K = (FLAGS & 1 << 14) != 0;
const uint AS_HALF = 0, AS_FLOAT = 1, AS_WORD = 2;

layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer OutWord { uint v[]; };

layout(push_constant, std430) uniform Push {
    In own_k, own_v;       // operands of S and of X, of the side that the workgroup owns
    In k, v;               // of the one that is streamed
    OutVec by_v, by_k;     // what the roots give
    uint owners, streamed; // rows
    uint depth, width;     // elements of a row
    uint blocks, groups;   // of owned rows in a matrix, and workgroups
    uint dim1, dim2;       // sizes of the inner axes of the batch
    Lies at_own_k, at_own_v, at_k, at_v;
} p;

#define LIMIT p.streamed

const uint TILE = MM * WARPS; // rows of a workgroup
const uint LEAVE_ROW = MN / 4 + 1;
const uint PITCH = PITCH_K > PITCH_V ? PITCH_K : PITCH_V;
const uint BLOCK = SIZE_K + KEYS * PITCH_V;
const uint BEGIN = TILE * (PITCH > LEAVE_ROW ? PITCH : LEAVE_ROW);
shared uvec4 slices[BLOCK > BEGIN ? BLOCK : BEGIN]; // rows that are owned; then blocks of the others; then results

// The numbers of the queries that are owned, or of those of a block.
const uint QUERIES = OF_KEYS ? KEYS : TILE;
shared float numbers[QUERIES * (NUMBERS > 0 ? NUMBERS : 1)];

// NUMBER is one of them; those that are not there are not read.
#define NUMBER(n, query) numbers[((n) < NUMBERS ? (n) : 0) * QUERIES + (query)]
#define ALL_NUMBERS(q) NUMBER(0, q), NUMBER(1, q), NUMBER(2, q), NUMBER(3, q), NUMBER(4, q), NUMBER(5, q), NUMBER(6, q), NUMBER(7, q)

// put stores an element.
void put(const OutVec to, const uint kind, const uint at, const float x) {
    if (kind == AS_HALF) OutOne(to).v[at] = uint16_t(stored(vec2(x, 0)));
    else OutWord(to).v[at] = kind == AS_FLOAT ? floatBitsToUint(x) : uint(x);
}

// leave stores the matrix of sums that begins at vector from of slices, as the one at a row and a column of matrix z of a result.
void leave(const OutVec to, const uint kind, const bool across, const uint from, const uint invocation, const uvec2 corner, const uint columns,
           const uint z) {
    [[dont_unroll]] for (uint e = invocation; e < MM * MN; e += SUBGROUP) {
        const uint y = across ? e % MM : e / MN, x = across ? e / MM : e % MN;
        const uint m = corner.x + y, n = corner.y + x;
        if (m >= p.owners || n >= columns) continue;
        put(to, kind, across ? (z * columns + n) * p.owners + m : (z * p.owners + m) * columns + n,
            uintBitsToFloat(slices[from + y * LEAVE_ROW + x / 4][x % 4]));
    }
}
