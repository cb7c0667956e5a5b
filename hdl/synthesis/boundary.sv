// A pipeline behind a few pins, so that it can be placed and routed on a part whose package has
// fewer pins than the pipeline has ports: inputs are shifted in, outputs are folded to one bit. All
// are registers, so every path that is timed is one of the pipeline's own.
module boundary #(
    parameter int MOSAIC        = 0,  // 1: the module `mosaic`, else `pipeline`
    parameter int FRONT         = 1,
    parameter int STEP          = 6,
    parameter int ROOT          = 18,
    parameter int DEEPEST       = 24,
    parameter int ADDRESS_BITS  = 32,
    parameter int MAP_CHUNKS    = 16,
    parameter int TILE_BITS     = 10,
    parameter int CHUNK_BITS    = 10,
    parameter int NEXT_HOP_BITS = 8,
    parameter int STAGE_CLOCKS  = 1
) (
    input  logic clock,
    input  logic reset,
    input  logic serial_in,
    output logic serial_out
);
    localparam int VALUE_BITS = CHUNK_BITS > NEXT_HOP_BITS ? CHUNK_BITS : NEXT_HOP_BITS;
    localparam int BEAT       = 2 + ADDRESS_BITS + 6 + 26 + 64;
    localparam int PORTS      = 4 + VALUE_BITS + 1 + NEXT_HOP_BITS;
    localparam int NEAR_INDEX = FRONT == 2 ? MAP_CHUNKS + 9 : FRONT == 1 ? DEEPEST + 1 : DEEPEST;
    localparam int FAR_INDEX  = CHUNK_BITS + ADDRESS_BITS - DEEPEST;
    localparam int OUTS       = MOSAIC == 1 ? 2 + NEXT_HOP_BITS
                              : 8 + 2 * NEXT_HOP_BITS + 2 * NEAR_INDEX + VALUE_BITS + 1 + 2 * FAR_INDEX;

    logic [BEAT+PORTS-1:0] ins;
    logic [OUTS-1:0]       outs, held;

    always_ff @(posedge clock) begin
        ins        <= {ins[BEAT+PORTS-2:0], serial_in};
        // Shifting is one gate a bit; a wide exclusive or would be a path of its own.
        held       <= {held[OUTS-2:0], 1'b0} ^ outs;
        serial_out <= held[OUTS-1];
    end

    if (MOSAIC == 1) begin : top
        mosaic #(
            .ROOT(ROOT), .DEEPEST(DEEPEST), .ADDRESS_BITS(ADDRESS_BITS), .TILE_BITS(TILE_BITS),
            .CHUNK_BITS(CHUNK_BITS), .NEXT_HOP_BITS(NEXT_HOP_BITS), .STAGE_CLOCKS(STAGE_CLOCKS)
        ) inside (
            .clock, .reset,
            .in_ready(outs[0]),
            .in_valid(ins[0]),
            .in_address(ins[2 +: ADDRESS_BITS]),
            .write_valid(ins[1]),
            .write_memory(ins[2+ADDRESS_BITS +: 6]),
            .write_index(ins[8+ADDRESS_BITS +: 26]),
            .write_data(ins[34+ADDRESS_BITS +: 64]),
            .out_valid(outs[1]),
            .out_next_hop(outs[2 +: NEXT_HOP_BITS])
        );
    end else begin : top
        pipeline #(
            .FRONT(FRONT), .STEP(STEP), .DEEPEST(DEEPEST), .ADDRESS_BITS(ADDRESS_BITS),
            .MAP_CHUNKS(MAP_CHUNKS), .CHUNK_BITS(CHUNK_BITS), .NEXT_HOP_BITS(NEXT_HOP_BITS),
            .STAGE_CLOCKS(STAGE_CLOCKS)
        ) inside (
            .clock, .reset,
            .in_ready(outs[0]),
            .in_valid(ins[0]),
            .in_address(ins[2 +: ADDRESS_BITS]),
            .write_valid(ins[1]),
            .write_memory(ins[2+ADDRESS_BITS +: 6]),
            .write_index(ins[8+ADDRESS_BITS +: 26]),
            .write_data(ins[34+ADDRESS_BITS +: 64]),
            .out_valid(outs[1]),
            .near_valid(outs[2]),
            .near_read(outs[3]),
            .near_write(outs[4]),
            .far_valid(outs[5]),
            .far_read(outs[6]),
            .far_write(outs[7]),
            .out_next_hop(outs[8 +: NEXT_HOP_BITS]),
            .far_write_data(outs[8+NEXT_HOP_BITS +: NEXT_HOP_BITS]),
            .near_read_index(outs[8+2*NEXT_HOP_BITS +: NEAR_INDEX]),
            .near_write_index(outs[8+2*NEXT_HOP_BITS+NEAR_INDEX +: NEAR_INDEX]),
            .near_write_data(outs[8+2*NEXT_HOP_BITS+2*NEAR_INDEX +: VALUE_BITS+1]),
            .far_read_index(outs[9+2*NEXT_HOP_BITS+2*NEAR_INDEX+VALUE_BITS +: FAR_INDEX]),
            .far_write_index(outs[9+2*NEXT_HOP_BITS+2*NEAR_INDEX+VALUE_BITS+FAR_INDEX +: FAR_INDEX]),
            .near_ready(ins[BEAT]),
            .near_answer_valid(ins[BEAT+1]),
            .far_ready(ins[BEAT+2]),
            .far_answer_valid(ins[BEAT+3]),
            .near_answer_data(ins[BEAT+4 +: VALUE_BITS+1]),
            .far_answer_data(ins[BEAT+5+VALUE_BITS +: NEXT_HOP_BITS])
        );
    end
endmodule
