// fibula's own table as a pipeline, all of it on chip: root, tiles, and the blocks of marked /24s.
//
// The first ROOT bits of an address choose a tile, the bits up to DEEPEST an entry of it. An entry
// is {mark, value}. With the mark, the value is the number of a block of answers, one for each
// address of the /24; else it is the answer.
//
// A beat is taken in every clock. Its address sees the writes of all beats before it, and not its
// own beat's. The answer comes three stages later, each of STAGE_CLOCKS clocks.
module mosaic #(
    parameter int ROOT          = 18,
    parameter int DEEPEST       = 24,
    parameter int ADDRESS_BITS  = 32,
    parameter int TILE_BITS     = 16, // 2^TILE_BITS tiles
    parameter int CHUNK_BITS    = 12, // 2^CHUNK_BITS blocks
    parameter int NEXT_HOP_BITS = 16,
    parameter int STAGE_CLOCKS  = 1,  // 2: a register behind each memory
    parameter int MEMORY_BITS   = 6,  // a write is {memory, index, data} of these widths
    parameter int WRITE_INDEX   = 26,
    parameter int WRITE_DATA    = 64
) (
    input  logic                     clock,
    input  logic                     reset,
    output logic                     in_ready,     // always
    input  logic                     in_valid,     // the beat has an address
    input  logic [ADDRESS_BITS-1:0]  in_address,
    input  logic                     write_valid,  // the beat has a write
    input  logic [MEMORY_BITS-1:0]   write_memory,
    input  logic [WRITE_INDEX-1:0]   write_index,
    input  logic [WRITE_DATA-1:0]    write_data,
    output logic                     out_valid,
    output logic [NEXT_HOP_BITS-1:0] out_next_hop  // 0: no route
);
    localparam int LOW_BITS   = ADDRESS_BITS - DEEPEST;
    localparam int VALUE_BITS = CHUNK_BITS > NEXT_HOP_BITS ? CHUNK_BITS : NEXT_HOP_BITS;
    localparam int WRITE_BITS = MEMORY_BITS + WRITE_INDEX + WRITE_DATA;

    logic                         root_lookup, root_write, tile_lookup, tile_write;
    logic                         tile_marked, block_marked, unused_block_write;
    logic [ADDRESS_BITS-ROOT-1:0] root_rest;
    logic [LOW_BITS-1:0]          tile_low;
    logic [TILE_BITS-1:0]         tile;
    logic [VALUE_BITS-1:0]        tile_value;
    logic [NEXT_HOP_BITS-1:0]     block_answer, tile_answer;
    logic [WRITE_BITS-1:0]        taken_word, root_word, tile_word, unused_block_word;

    assign in_ready   = 1'b1;
    assign taken_word = {write_memory, write_index, write_data};

    table_stage #(
        .MEMORY(18), .INDEX_BITS(ROOT), .DATA_BITS(TILE_BITS), .CLOCKS(STAGE_CLOCKS),
        .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
    ) root (
        .clock,
        .index(in_address[ADDRESS_BITS-1 -: ROOT]),
        .data(tile),
        .write(write_valid),
        .word(taken_word)
    );
    beat #(
        .LOOKUP_BITS(ADDRESS_BITS-ROOT), .WRITE_BITS(WRITE_BITS), .CLOCKS(STAGE_CLOCKS)
    ) root_beat (
        .clock,
        .reset,
        .in_lookup(in_valid),
        .in_carried(in_address[ADDRESS_BITS-ROOT-1:0]),
        .in_write(write_valid),
        .in_word(taken_word),
        .out_lookup(root_lookup),
        .out_carried(root_rest),
        .out_write(root_write),
        .out_word(root_word)
    );

    table_stage #(
        .MEMORY(24), .INDEX_BITS(TILE_BITS + DEEPEST - ROOT), .DATA_BITS(1 + VALUE_BITS),
        .CLOCKS(STAGE_CLOCKS),
        .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
    ) tiles (
        .clock,
        .index({tile, root_rest[ADDRESS_BITS-ROOT-1:LOW_BITS]}),
        .data({tile_marked, tile_value}),
        .write(root_write),
        .word(root_word)
    );
    beat #(
        .LOOKUP_BITS(LOW_BITS), .WRITE_BITS(WRITE_BITS), .CLOCKS(STAGE_CLOCKS)
    ) tile_beat (
        .clock,
        .reset,
        .in_lookup(root_lookup),
        .in_carried(root_rest[LOW_BITS-1:0]),
        .in_write(root_write),
        .in_word(root_word),
        .out_lookup(tile_lookup),
        .out_carried(tile_low),
        .out_write(tile_write),
        .out_word(tile_word)
    );

    table_stage #(
        .MEMORY(25), .INDEX_BITS(CHUNK_BITS + LOW_BITS), .DATA_BITS(NEXT_HOP_BITS),
        .CLOCKS(STAGE_CLOCKS),
        .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
    ) blocks (
        .clock,
        .index({tile_value[CHUNK_BITS-1:0], tile_low}),
        .data(block_answer),
        .write(tile_write),
        .word(tile_word)
    );
    beat #(
        .LOOKUP_BITS(1 + NEXT_HOP_BITS), .WRITE_BITS(WRITE_BITS), .CLOCKS(STAGE_CLOCKS)
    ) block_beat (
        .clock,
        .reset,
        .in_lookup(tile_lookup),
        .in_carried({tile_marked, tile_value[NEXT_HOP_BITS-1:0]}),
        .in_write(tile_write),
        .in_word(tile_word),
        .out_lookup(out_valid),
        .out_carried({block_marked, tile_answer}),
        .out_write(unused_block_write),
        .out_word(unused_block_word)
    );
    assign out_next_hop = block_marked ? block_answer : tile_answer;
endmodule
