// Holds a beat for the CLOCKS of a stage: the lookup and the write that travel side by side.
//
// The two keep their order in every stage. An address therefore sees all writes that entered the
// pipeline before it, and none that entered with it or later.
module beat #(
    parameter int LOOKUP_BITS = 32, // what a lookup carries
    parameter int WRITE_BITS  = 96, // what a write carries: memory, index and data
    parameter int CLOCKS      = 1
) (
    input  logic                   clock,
    input  logic                   reset,
    input  logic                   in_lookup,
    input  logic [LOOKUP_BITS-1:0] in_carried,
    input  logic                   in_write,
    input  logic [WRITE_BITS-1:0]  in_word,
    output logic                   out_lookup,
    output logic [LOOKUP_BITS-1:0] out_carried,
    output logic                   out_write,
    output logic [WRITE_BITS-1:0]  out_word
);
    // The beats of this stage, the one that entered last in the lowest bits.
    logic [CLOCKS-1:0]             lookups, writes;
    logic [CLOCKS*LOOKUP_BITS-1:0] carried;
    logic [CLOCKS*WRITE_BITS-1:0]  words;

    always_ff @(posedge clock) begin
        lookups <= reset ? '0 : CLOCKS'({lookups, in_lookup});
        writes  <= reset ? '0 : CLOCKS'({writes, in_write});
        carried <= (CLOCKS*LOOKUP_BITS)'({carried, in_carried});
        words   <= (CLOCKS*WRITE_BITS)'({words, in_word});
    end
    assign out_lookup  = lookups[CLOCKS-1];
    assign out_write   = writes[CLOCKS-1];
    assign out_carried = carried[CLOCKS*LOOKUP_BITS-1 -: LOOKUP_BITS];
    assign out_word    = words[CLOCKS*WRITE_BITS-1 -: WRITE_BITS];
endmodule
