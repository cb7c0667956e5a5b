// A memory off chip as one stage of a pipeline: reads that take LATENCY clocks, of which up to
// 2^OUTSTANDING_BITS are under way, and writes beside them.
//
// The port is that of an SRAM with a read side and a write side: one request a clock, which may read
// one word and write another. `port_ready` may be low in any clock, and an answer may come later
// than LATENCY, but answers come in the order of the reads, and a read sees the writes of the
// requests before its own.
//
// A beat that reads nothing waits LATENCY clocks too. So all beats take equally long while the
// memory is never busy.
module memory_stage #(
    parameter int MEMORY           = 32, // the number of this memory in a write
    parameter int INDEX_BITS       = 25,
    parameter int DATA_BITS        = 17,
    parameter int CARRIED_BITS     = 32, // what a beat carries past this stage
    parameter int LATENCY          = 8,
    parameter int OUTSTANDING_BITS = 4,  // 2^OUTSTANDING_BITS > LATENCY + 3 for a beat a clock
    parameter int WRITE_BITS       = 96,
    parameter int WRITE_INDEX      = 26,
    parameter int WRITE_DATA       = 64
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    in_valid,
    output logic                    in_ready,
    input  logic                    in_read,
    input  logic [INDEX_BITS-1:0]   in_index,
    input  logic [CARRIED_BITS-1:0] in_carried,
    input  logic                    in_write,
    input  logic [WRITE_BITS-1:0]   in_word,
    output logic                    out_valid,
    input  logic                    out_ready,
    output logic                    out_read,
    output logic [DATA_BITS-1:0]    out_data,
    output logic [CARRIED_BITS-1:0] out_carried,
    output logic                    out_write,
    output logic [WRITE_BITS-1:0]   out_word,
    output logic                    port_valid,
    input  logic                    port_ready,
    output logic                    port_read,
    output logic [INDEX_BITS-1:0]   port_read_index,
    output logic                    port_write,
    output logic [INDEX_BITS-1:0]   port_write_index,
    output logic [DATA_BITS-1:0]    port_write_data,
    input  logic                    answer_valid,
    input  logic [DATA_BITS-1:0]    answer_data
);
    localparam int NAME = WRITE_INDEX + WRITE_DATA;
    localparam int KEPT = 2 + CARRIED_BITS + WRITE_BITS;

    logic issue, leave, kept_empty, kept_full, answers_empty, unused_answers_full;
    logic [LATENCY:0]          waiting;  // which of the last beats issued read nothing
    logic [OUTSTANDING_BITS:0] waited;   // beats that read nothing and have waited

    assign port_read        = in_read;
    assign port_read_index  = in_index;
    assign port_write       = in_write && in_word[NAME +: WRITE_BITS-NAME] == (WRITE_BITS-NAME)'(MEMORY);
    assign port_write_index = in_word[WRITE_DATA +: INDEX_BITS];
    assign port_write_data  = in_word[0 +: DATA_BITS];

    assign port_valid = in_valid && !kept_full && (port_read || port_write);
    assign in_ready   = !kept_full && (port_ready || !(port_read || port_write));
    assign issue      = in_valid && in_ready;
    assign leave      = out_valid && out_ready;
    assign out_valid  = !kept_empty && (out_read ? !answers_empty : waited != '0);

    fifo #(.DATA_BITS(KEPT), .DEPTH_BITS(OUTSTANDING_BITS)) kept (
        .clock,
        .reset,
        .push(issue),
        .tail({in_read, in_carried, in_write, in_word}),
        .pop(leave),
        .head({out_read, out_carried, out_write, out_word}),
        .empty(kept_empty),
        .full(kept_full)
    );
    // There is room for the answer of every read under way: each holds a slot of `kept`.
    fifo #(.DATA_BITS(DATA_BITS), .DEPTH_BITS(OUTSTANDING_BITS)) answers (
        .clock,
        .reset,
        .push(answer_valid),
        .tail(answer_data),
        .pop(leave && out_read),
        .head(out_data),
        .empty(answers_empty),
        .full(unused_answers_full)
    );
    always_ff @(posedge clock) begin
        if (reset) begin
            waiting <= '0;
            waited  <= '0;
        end else begin
            waiting <= (LATENCY+1)'({waiting, issue && !in_read});
            waited  <= waited + (OUTSTANDING_BITS+1)'(waiting[LATENCY])
                              - (OUTSTANDING_BITS+1)'(leave && !out_read);
        end
    end
endmodule
