// A queue whose head is in a register, so that no path goes through the memory and on.
//
// What was pushed in one clock is at the head two clocks later, if the queue was empty.
module fifo #(
    parameter int DATA_BITS  = 8,
    parameter int DEPTH_BITS = 4    // the queue holds 2^DEPTH_BITS words and the head
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 push,   // only while not `full`
    input  logic [DATA_BITS-1:0] tail,
    input  logic                 pop,    // only while not `empty`
    output logic [DATA_BITS-1:0] head,
    output logic                 empty,
    output logic                 full
);
    (* ram_style = "distributed" *) logic [DATA_BITS-1:0] cells [2**DEPTH_BITS];
    // One bit more than an index has: equal indices mean empty or full, and this bit says which.
    logic [DEPTH_BITS:0] pushed, popped;
    logic                filled, refill;

    assign refill = pushed != popped && (!filled || pop);
    assign full   = pushed == {~popped[DEPTH_BITS], popped[DEPTH_BITS-1:0]};
    assign empty  = !filled;

    always_ff @(posedge clock) begin
        if (push)   cells[pushed[DEPTH_BITS-1:0]] <= tail;
        if (refill) head <= cells[popped[DEPTH_BITS-1:0]];
        if (reset) begin
            pushed <= '0;
            popped <= '0;
            filled <= 1'b0;
        end else begin
            pushed <= pushed + (DEPTH_BITS+1)'(push);
            popped <= popped + (DEPTH_BITS+1)'(refill);
            filled <= refill || (filled && !pop);
        end
    end
endmodule
