// What is off chip, for all pipelines that have it: a queue, the memory of answers up to /24
// ("near"), a queue, and the memory of routes longer than /24 ("far").
//
// A beat brings either its answer or the index of an entry in the near memory. An entry is
// {flag, value}. With the flag, the value is the number of a chunk of 2^LOW_BITS answers in the far
// memory; else it is the answer.
module off_chip #(
    parameter int STAGES_DEPTH_BITS = 6,  // beats that the first queue holds, as a power of 2
    parameter int NEAR_INDEX_BITS   = 25,
    parameter int CHUNK_BITS        = 16,
    parameter int LOW_BITS          = 8,
    parameter int NEXT_HOP_BITS     = 16,
    parameter int VALUE_BITS        = CHUNK_BITS > NEXT_HOP_BITS ? CHUNK_BITS : NEXT_HOP_BITS,
    parameter int LATENCY           = 8,
    parameter int OUTSTANDING_BITS  = 4,
    parameter int WRITE_BITS        = 96,
    parameter int WRITE_INDEX       = 26,
    parameter int WRITE_DATA        = 64
) (
    input  logic                           clock,
    input  logic                           reset,
    input  logic                           in_lookup,
    input  logic                           in_read,    // `in_index` counts, else `in_answer`
    input  logic [NEAR_INDEX_BITS-1:0]     in_index,
    input  logic [LOW_BITS-1:0]            in_low,     // the index in a chunk
    input  logic [NEXT_HOP_BITS-1:0]       in_answer,
    input  logic                           in_write,
    input  logic [WRITE_BITS-1:0]          in_word,
    output logic                           left,       // a beat leaves the first queue
    output logic                           out_valid,
    output logic [NEXT_HOP_BITS-1:0]       out_next_hop,
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
    localparam int NEAR_CARRIED = 1 + LOW_BITS + NEXT_HOP_BITS;
    localparam int FAR_INDEX    = CHUNK_BITS + LOW_BITS;
    localparam int FAR_CARRIED  = 1 + NEXT_HOP_BITS;

    // The first queue, from which the near memory is read.
    logic                       queue_empty, unused_queue_full, near_takes;
    logic                       queue_read, queue_write;
    logic [NEAR_INDEX_BITS-1:0] queue_index;
    logic [NEAR_CARRIED-1:0]    queue_carried;
    logic [WRITE_BITS-1:0]      queue_word;

    assign left = near_takes && !queue_empty;

    // Admission sees to it that this queue is never full.
    fifo #(
        .DATA_BITS(2 + NEAR_INDEX_BITS + NEAR_CARRIED + WRITE_BITS), .DEPTH_BITS(STAGES_DEPTH_BITS)
    ) near_queue (
        .clock,
        .reset,
        .push(in_lookup || in_write),
        .tail({in_lookup && in_read, in_index, in_lookup, in_low, in_answer, in_write, in_word}),
        .pop(left),
        .head({queue_read, queue_index, queue_carried, queue_write, queue_word}),
        .empty(queue_empty),
        .full(unused_queue_full)
    );

    // The second queue, from which the far memory is read.
    logic                   far_full, far_empty, far_takes, far_reads, far_writes;
    logic [FAR_INDEX-1:0]   far_index;
    logic [FAR_CARRIED-1:0] far_carried;
    logic [WRITE_BITS-1:0]  far_word;

    // The answer of the near memory, and what it leads to.
    logic                     found_valid, found_read, found_write, found_lookup, deeper;
    logic [VALUE_BITS:0]      found_data;
    logic [LOW_BITS-1:0]      found_low;
    logic [NEXT_HOP_BITS-1:0] found_known, found_answer;
    logic [WRITE_BITS-1:0]    found_word;

    memory_stage #(
        .MEMORY(32), .INDEX_BITS(NEAR_INDEX_BITS), .DATA_BITS(VALUE_BITS+1),
        .CARRIED_BITS(NEAR_CARRIED), .LATENCY(LATENCY), .OUTSTANDING_BITS(OUTSTANDING_BITS),
        .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
    ) near_memory (
        .clock,
        .reset,
        .in_valid(!queue_empty),
        .in_ready(near_takes),
        .in_read(queue_read),
        .in_index(queue_index),
        .in_carried(queue_carried),
        .in_write(queue_write),
        .in_word(queue_word),
        .out_valid(found_valid),
        .out_ready(!far_full),
        .out_read(found_read),
        .out_data(found_data),
        .out_carried({found_lookup, found_low, found_known}),
        .out_write(found_write),
        .out_word(found_word),
        .port_valid(near_valid),
        .port_ready(near_ready),
        .port_read(near_read),
        .port_read_index(near_read_index),
        .port_write(near_write),
        .port_write_index(near_write_index),
        .port_write_data(near_write_data),
        .answer_valid(near_answer_valid),
        .answer_data(near_answer_data)
    );
    assign deeper       = found_read && found_data[VALUE_BITS];
    assign found_answer = found_read ? found_data[NEXT_HOP_BITS-1:0] : found_known;

    fifo #(
        .DATA_BITS(2 + FAR_INDEX + FAR_CARRIED + WRITE_BITS), .DEPTH_BITS(OUTSTANDING_BITS)
    ) far_queue (
        .clock,
        .reset,
        .push(found_valid && !far_full),
        .tail({deeper, found_data[CHUNK_BITS-1:0], found_low, found_lookup, found_answer,
               found_write, found_word}),
        .pop(far_takes && !far_empty),
        .head({far_reads, far_index, far_carried, far_writes, far_word}),
        .empty(far_empty),
        .full(far_full)
    );

    logic                     last_valid, last_lookup, last_read, unused_last_write;
    logic [NEXT_HOP_BITS-1:0] last_data, last_answer;
    logic [WRITE_BITS-1:0]    unused_last_word;

    memory_stage #(
        .MEMORY(33), .INDEX_BITS(FAR_INDEX), .DATA_BITS(NEXT_HOP_BITS),
        .CARRIED_BITS(FAR_CARRIED), .LATENCY(LATENCY), .OUTSTANDING_BITS(OUTSTANDING_BITS),
        .WRITE_BITS(WRITE_BITS), .WRITE_INDEX(WRITE_INDEX), .WRITE_DATA(WRITE_DATA)
    ) far_memory (
        .clock,
        .reset,
        .in_valid(!far_empty),
        .in_ready(far_takes),
        .in_read(far_reads),
        .in_index(far_index),
        .in_carried(far_carried),
        .in_write(far_writes),
        .in_word(far_word),
        .out_valid(last_valid),
        .out_ready(1'b1),
        .out_read(last_read),
        .out_data(last_data),
        .out_carried({last_lookup, last_answer}),
        .out_write(unused_last_write),
        .out_word(unused_last_word),
        .port_valid(far_valid),
        .port_ready(far_ready),
        .port_read(far_read),
        .port_read_index(far_read_index),
        .port_write(far_write),
        .port_write_index(far_write_index),
        .port_write_data(far_write_data),
        .answer_valid(far_answer_valid),
        .answer_data(far_answer_data)
    );
    assign out_valid    = last_valid && last_lookup;
    assign out_next_hop = last_read ? last_data : last_answer;
endmodule
