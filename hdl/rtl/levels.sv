// Finds the length of the longest match up to `DEEPEST` bits: one bit map a level, one level a
// stage. The levels are STEP, 2 STEP, ... DEEPEST.
//
// SAIL_B is STEP = 1, SAIL_U is STEP = 6 (Yang et al., SIGCOMM 2014, sections 3 and 4.1).
module levels #(
    parameter int STEP         = 6,
    parameter int DEEPEST      = 24,
    parameter int ADDRESS_BITS = 32,
    parameter int LENGTH_BITS  = $clog2(DEEPEST + 1),
    parameter int STAGE_CLOCKS = 1,
    parameter int WRITE_BITS   = 96,
    parameter int WRITE_INDEX  = 26,
    parameter int WRITE_DATA   = 64
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    in_lookup,
    input  logic [ADDRESS_BITS-1:0] in_address,
    input  logic                    in_write,
    input  logic [WRITE_BITS-1:0]   in_word,
    output logic                    out_lookup,
    output logic [ADDRESS_BITS-1:0] out_address,
    output logic [LENGTH_BITS-1:0]  out_length,   // 0: no map had a bit
    output logic                    out_write,
    output logic [WRITE_BITS-1:0]   out_word
);
    localparam int STAGES  = DEEPEST / STEP;
    localparam int CARRIED = ADDRESS_BITS + LENGTH_BITS;

    // What enters each stage, and at index STAGES what leaves the last.
    logic [STAGES:0]         lookup, write;
    logic [ADDRESS_BITS-1:0] address [STAGES+1];
    logic [LENGTH_BITS-1:0]  length  [STAGES+1];
    logic [WRITE_BITS-1:0]   word    [STAGES+1];

    assign lookup[0]  = in_lookup;
    assign address[0] = in_address;
    assign length[0]  = '0;
    assign write[0]   = in_write;
    assign word[0]    = in_word;

    for (genvar stage = 0; stage < STAGES; stage++) begin : level
        localparam int LEVEL = (stage + 1) * STEP;
        logic                   hit;
        logic [LENGTH_BITS-1:0] above;

        bitmap_stage #(
            .MEMORY(LEVEL), .INDEX_BITS(LEVEL), .CLOCKS(STAGE_CLOCKS),
            .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
        ) map (
            .clock,
            .index(address[stage][ADDRESS_BITS-1 -: LEVEL]),
            .hit,
            .write(write[stage]),
            .word(word[stage])
        );
        beat #(.LOOKUP_BITS(CARRIED), .WRITE_BITS(WRITE_BITS), .CLOCKS(STAGE_CLOCKS)) held (
            .clock,
            .reset,
            .in_lookup(lookup[stage]),
            .in_carried({address[stage], length[stage]}),
            .in_write(write[stage]),
            .in_word(word[stage]),
            .out_lookup(lookup[stage+1]),
            .out_carried({address[stage+1], above}),
            .out_write(write[stage+1]),
            .out_word(word[stage+1])
        );
        assign length[stage+1] = hit ? LENGTH_BITS'(LEVEL) : above;
    end

    assign out_lookup  = lookup[STAGES];
    assign out_address = address[STAGES];
    assign out_length  = length[STAGES];
    assign out_write   = write[STAGES];
    assign out_word    = word[STAGES];
endmodule
