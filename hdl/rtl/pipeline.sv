// A lookup pipeline: what is found on chip, chosen by FRONT, then the memories off chip.
//
//   sail_b    FRONT = 1, STEP = 1    24 stages on chip, a bit map a level
//   sail_u    FRONT = 1, STEP = 6    4 stages on chip, pushed levels 6, 12, 18 and 24
//   sail_l    FRONT = 2              2 stages on chip, BCN16 and B24
//   dir24_8   FRONT = 0              no stage on chip, TBL24 and TBLlong off chip
//
// A beat is taken in each clock in which `in_ready` is set and one of `in_valid` and `write_valid`.
// Its address sees the writes of all beats before it, and not its own beat's. Answers come in the
// order of the addresses, after a fixed number of clocks while the memories are never busy.
module pipeline #(
    parameter int FRONT            = 1,
    parameter int STEP             = 6,
    parameter int DEEPEST          = 24, // the level at which the near memory ends
    parameter int ADDRESS_BITS     = 32,
    parameter int MAP_CHUNKS       = 16, // FRONT = 2: 2^MAP_CHUNKS chunks of B24
    parameter int CHUNK_BITS       = 16, // 2^CHUNK_BITS chunks of routes longer than DEEPEST
    parameter int NEXT_HOP_BITS    = 16,
    parameter int STAGE_CLOCKS     = 1,  // 2: a register behind each memory on chip
    parameter int QUEUE_BITS       = 6,  // beats on chip and in the first queue, as a power of 2
    parameter int LATENCY          = 8,  // clocks from a read off chip to its answer
    parameter int OUTSTANDING_BITS = 4,  // reads under way to each memory, as a power of 2
    parameter int MEMORY_BITS      = 6,  // a write is {memory, index, data} of these widths
    parameter int WRITE_INDEX      = 26,
    parameter int WRITE_DATA       = 64,
    // What follows from the parameters above.
    parameter int NEAR_INDEX_BITS  = FRONT == 2 ? MAP_CHUNKS + 9 : FRONT == 1 ? DEEPEST + 1 : DEEPEST,
    parameter int LOW_BITS         = ADDRESS_BITS - DEEPEST,
    parameter int VALUE_BITS       = CHUNK_BITS > NEXT_HOP_BITS ? CHUNK_BITS : NEXT_HOP_BITS,
    parameter int WRITE_BITS       = MEMORY_BITS + WRITE_INDEX + WRITE_DATA
) (
    input  logic                           clock,
    input  logic                           reset,
    output logic                           in_ready,
    input  logic                           in_valid,     // the beat has an address
    input  logic [ADDRESS_BITS-1:0]        in_address,
    input  logic                           write_valid,  // the beat has a write
    input  logic [MEMORY_BITS-1:0]         write_memory,
    input  logic [WRITE_INDEX-1:0]         write_index,
    input  logic [WRITE_DATA-1:0]          write_data,
    output logic                           out_valid,
    output logic [NEXT_HOP_BITS-1:0]       out_next_hop, // 0: no route
    output logic                           near_valid,
    input  logic                           near_ready,
    output logic                           near_read,
    output logic [NEAR_INDEX_BITS-1:0]     near_read_index,
    output logic                           near_write,
    output logic [NEAR_INDEX_BITS-1:0]     near_write_index,
    output logic [VALUE_BITS:0]            near_write_data,
    input  logic                           near_answer_valid,
    input  logic [VALUE_BITS:0]            near_answer_data,
    output logic                           far_valid,
    input  logic                           far_ready,
    output logic                           far_read,
    output logic [CHUNK_BITS+LOW_BITS-1:0] far_read_index,
    output logic                           far_write,
    output logic [CHUNK_BITS+LOW_BITS-1:0] far_write_index,
    output logic [NEXT_HOP_BITS-1:0]       far_write_data,
    input  logic                           far_answer_valid,
    input  logic [NEXT_HOP_BITS-1:0]       far_answer_data
);
    localparam int LENGTH_BITS = $clog2(DEEPEST + 1);

    logic taken_lookup, taken_write, left;
    logic found_lookup, found_read, found_write;
    logic [NEAR_INDEX_BITS-1:0] found_index;
    logic [LOW_BITS-1:0]        found_low;
    logic [NEXT_HOP_BITS-1:0]   found_answer;
    logic [WRITE_BITS-1:0]      taken_word, found_word;

    assign taken_lookup = in_ready && in_valid;
    assign taken_write  = in_ready && write_valid;
    assign taken_word   = {write_memory, write_index, write_data};

    admission #(.DEPTH_BITS(QUEUE_BITS)) admits (
        .clock,
        .reset,
        .offered(in_valid || write_valid),
        .ready(in_ready),
        .left
    );

    if (FRONT == 2) begin : front
        chunks #(
            .ADDRESS_BITS(ADDRESS_BITS), .SECOND(DEEPEST), .SECOND_CHUNKS(MAP_CHUNKS),
            .NEXT_HOP_BITS(NEXT_HOP_BITS), .NEAR_INDEX_BITS(NEAR_INDEX_BITS), .LOW_BITS(LOW_BITS),
            .STAGE_CLOCKS(STAGE_CLOCKS),
            .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
        ) on_chip (
            .clock,
            .reset,
            .in_lookup(taken_lookup),
            .in_address,
            .in_write(taken_write),
            .in_word(taken_word),
            .out_lookup(found_lookup),
            .out_read(found_read),
            .out_index(found_index),
            .out_low(found_low),
            .out_answer(found_answer),
            .out_write(found_write),
            .out_word(found_word)
        );
    end else if (FRONT == 1) begin : front
        logic [ADDRESS_BITS-1:0] found_address;
        logic [LENGTH_BITS-1:0]  found_length;

        levels #(
            .STEP(STEP), .DEEPEST(DEEPEST), .ADDRESS_BITS(ADDRESS_BITS), .LENGTH_BITS(LENGTH_BITS),
            .STAGE_CLOCKS(STAGE_CLOCKS),
            .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
        ) on_chip (
            .clock,
            .reset,
            .in_lookup(taken_lookup),
            .in_address,
            .in_write(taken_write),
            .in_word(taken_word),
            .out_lookup(found_lookup),
            .out_address(found_address),
            .out_length(found_length),
            .out_write(found_write),
            .out_word(found_word)
        );
        // N of all levels is one memory: entry `slot` of level l is at 2^l + slot.
        assign found_index  = {1'b1, found_address[ADDRESS_BITS-1 -: DEEPEST]}
                              >> (LENGTH_BITS'(DEEPEST) - found_length);
        assign found_low    = found_address[LOW_BITS-1:0];
        assign found_read   = 1'b1;
        assign found_answer = '0;
    end else begin : front
        assign found_lookup = taken_lookup;
        assign found_read   = 1'b1;
        assign found_index  = in_address[ADDRESS_BITS-1 -: DEEPEST];
        assign found_low    = in_address[LOW_BITS-1:0];
        assign found_answer = '0;
        assign found_write  = taken_write;
        assign found_word   = taken_word;
    end

    off_chip #(
        .STAGES_DEPTH_BITS(QUEUE_BITS), .NEAR_INDEX_BITS(NEAR_INDEX_BITS), .CHUNK_BITS(CHUNK_BITS),
        .LOW_BITS(LOW_BITS), .NEXT_HOP_BITS(NEXT_HOP_BITS), .VALUE_BITS(VALUE_BITS),
        .LATENCY(LATENCY), .OUTSTANDING_BITS(OUTSTANDING_BITS),
        .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
    ) memories (
        .clock,
        .reset,
        .in_lookup(found_lookup),
        .in_read(found_read),
        .in_index(found_index),
        .in_low(found_low),
        .in_answer(found_answer),
        .in_write(found_write),
        .in_word(found_word),
        .left,
        .out_valid,
        .out_next_hop,
        .near_valid,
        .near_ready,
        .near_read,
        .near_read_index,
        .near_write,
        .near_write_index,
        .near_write_data,
        .near_answer_valid,
        .near_answer_data,
        .far_valid,
        .far_ready,
        .far_read,
        .far_read_index,
        .far_write,
        .far_write_index,
        .far_write_data,
        .far_answer_valid,
        .far_answer_data
    );
endmodule
