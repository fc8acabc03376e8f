// The order in which workgroups take the tiles of products on matrix hardware.

// Tiles run down columns of GROUP tiles, so that those at work share rows and columns.
const uint GROUP = 8;

// tile_at is the row and the column, counted in tiles, of tile number i of a matrix.
uvec2 tile_at(const uint i, const uint across, const uint down) {
    const uint group = i / (GROUP * across), high = min(GROUP, down - group * GROUP);
    return uvec2(group * GROUP + i % (GROUP * across) % high, i % (GROUP * across) / high);
}
