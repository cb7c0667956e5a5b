// A bit map on chip. `hit` is the bit whose `index` was given CLOCKS clocks before.
//
// A write replaces a word of 64 bits, or the whole map if it is shorter.
module bitmap_stage #(
    parameter int MEMORY      = 24, // the number of this map in a write
    parameter int INDEX_BITS  = 24, // the map has 2^INDEX_BITS bits
    parameter int CLOCKS      = 1,
    parameter int WRITE_BITS  = 96,
    parameter int WRITE_INDEX = 26,
    parameter int WRITE_DATA  = 64
) (
    input  logic                  clock,
    input  logic [INDEX_BITS-1:0] index,
    output logic                  hit,
    input  logic                  write,
    input  logic [WRITE_BITS-1:0] word
);
    localparam int BIT_BITS  = INDEX_BITS < 6 ? INDEX_BITS : 6;
    // A memory has at least two words, so that its index is at least one bit.
    localparam int WORD_BITS = INDEX_BITS < 7 ? 1 : INDEX_BITS - 6;

    logic [2**BIT_BITS-1:0] bits;
    // Which bit of its word each beat of this stage asks for, the youngest in the lowest bits.
    logic [CLOCKS*BIT_BITS-1:0] which;

    always_ff @(posedge clock) which <= (CLOCKS*BIT_BITS)'({which, index[BIT_BITS-1:0]});
    assign hit = bits[which[CLOCKS*BIT_BITS-1 -: BIT_BITS]];

    table_stage #(
        .MEMORY(MEMORY), .INDEX_BITS(WORD_BITS), .DATA_BITS(2**BIT_BITS), .CLOCKS(CLOCKS),
        .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
    ) map (
        .clock,
        .index(WORD_BITS'(index >> BIT_BITS)),
        .data(bits),
        .write,
        .word
    );
endmodule
