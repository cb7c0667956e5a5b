// The two stages on chip of SAIL_L (Yang et al., SIGCOMM 2014, section 4.2): BCN16, then B24.
//
// An entry of BCN16 is {flag, value}. With the flag, the value is the answer; else it is the number
// of a chunk of 256 /24s. A bit of B24 says in which memory off chip such a /24 has its entry: with
// the bit, in N24; else in C24, which leads to a chunk of level 32.
module chunks #(
    parameter int ADDRESS_BITS    = 32,
    parameter int FIRST           = 16, // the level of BCN
    parameter int SECOND          = 24, // the level of B24
    parameter int SECOND_CHUNKS   = 16, // 2^SECOND_CHUNKS chunks of level SECOND
    parameter int NEXT_HOP_BITS   = 16,
    parameter int NEAR_INDEX_BITS = 1 + SECOND_CHUNKS + SECOND - FIRST,
    parameter int LOW_BITS        = ADDRESS_BITS - SECOND,
    parameter int STAGE_CLOCKS    = 1,
    parameter int WRITE_BITS      = 96,
    parameter int WRITE_INDEX     = 26,
    parameter int WRITE_DATA      = 64
) (
    input  logic                       clock,
    input  logic                       reset,
    input  logic                       in_lookup,
    input  logic [ADDRESS_BITS-1:0]    in_address,
    input  logic                       in_write,
    input  logic [WRITE_BITS-1:0]      in_word,
    output logic                       out_lookup,
    output logic                       out_read,   // the answer is off chip, at `out_index`
    output logic [NEAR_INDEX_BITS-1:0] out_index,  // {C24 and not N24, chunk, slot}
    output logic [LOW_BITS-1:0]        out_low,
    output logic [NEXT_HOP_BITS-1:0]   out_answer, // else it is this
    output logic                       out_write,
    output logic [WRITE_BITS-1:0]      out_word
);
    localparam int VALUE_BITS = SECOND_CHUNKS > NEXT_HOP_BITS ? SECOND_CHUNKS : NEXT_HOP_BITS;
    localparam int SLOT_BITS  = SECOND - FIRST;
    localparam int MAP_BITS   = SECOND_CHUNKS + SLOT_BITS;
    localparam int CARRIED    = 1 + NEXT_HOP_BITS + MAP_BITS + LOW_BITS;

    logic                             first_lookup, first_write, first_answers;
    logic [ADDRESS_BITS-FIRST-1:0]    first_rest;
    logic [VALUE_BITS-1:0]            first_value;
    logic [WRITE_BITS-1:0]            first_word;
    logic [MAP_BITS-1:0]              map_index, near_index;
    logic                             second_answers, in_near;

    table_stage #(
        .MEMORY(FIRST), .INDEX_BITS(FIRST), .DATA_BITS(1 + VALUE_BITS), .CLOCKS(STAGE_CLOCKS),
        .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
    ) bcn (
        .clock,
        .index(in_address[ADDRESS_BITS-1 -: FIRST]),
        .data({first_answers, first_value}),
        .write(in_write),
        .word(in_word)
    );
    beat #(
        .LOOKUP_BITS(ADDRESS_BITS-FIRST), .WRITE_BITS(WRITE_BITS), .CLOCKS(STAGE_CLOCKS)
    ) first (
        .clock,
        .reset,
        .in_lookup,
        .in_carried(in_address[ADDRESS_BITS-FIRST-1:0]),
        .in_write,
        .in_word,
        .out_lookup(first_lookup),
        .out_carried(first_rest),
        .out_write(first_write),
        .out_word(first_word)
    );

    assign map_index = {first_value[SECOND_CHUNKS-1:0], first_rest[LOW_BITS +: SLOT_BITS]};
    bitmap_stage #(
        .MEMORY(SECOND), .INDEX_BITS(MAP_BITS), .CLOCKS(STAGE_CLOCKS),
        .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
    ) b24 (
        .clock,
        .index(map_index),
        .hit(in_near),
        .write(first_write),
        .word(first_word)
    );
    beat #(.LOOKUP_BITS(CARRIED), .WRITE_BITS(WRITE_BITS), .CLOCKS(STAGE_CLOCKS)) second (
        .clock,
        .reset,
        .in_lookup(first_lookup),
        .in_carried({
            first_answers, first_value[NEXT_HOP_BITS-1:0], map_index, first_rest[LOW_BITS-1:0]
        }),
        .in_write(first_write),
        .in_word(first_word),
        .out_lookup,
        .out_carried({second_answers, out_answer, near_index, out_low}),
        .out_write,
        .out_word
    );
    assign out_read  = !second_answers;
    assign out_index = {!in_near, near_index};
endmodule
