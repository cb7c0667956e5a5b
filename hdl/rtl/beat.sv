// Holds a beat for one clock: the lookup and the write that travel side by side.
//
// The two keep their order in every stage. An address therefore sees all writes that entered the
// pipeline before it, and none that entered with it or later.
module beat #(
    parameter int LOOKUP_BITS = 32, // what a lookup carries
    parameter int WRITE_BITS  = 96  // what a write carries: memory, index and data
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
    always_ff @(posedge clock) begin
        out_carried <= in_carried;
        out_word    <= in_word;
        out_lookup  <= in_lookup && !reset;
        out_write   <= in_write && !reset;
    end
endmodule
