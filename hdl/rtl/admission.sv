// Admits a beat only if the queue behind the stages on chip has room for it. So those stages never
// stall, and no enable signal spans them.
//
// A beat holds one slot of the queue from its admission until it leaves the queue.
module admission #(
    parameter int DEPTH_BITS = 6    // the queue holds 2^DEPTH_BITS beats
) (
    input  logic clock,
    input  logic reset,
    input  logic offered,           // a beat is offered
    output logic ready,             // and is admitted if this is set
    input  logic left               // a beat leaves the queue
);
    logic [DEPTH_BITS:0] held;

    assign ready = !held[DEPTH_BITS];

    always_ff @(posedge clock) begin
        if (reset) held <= '0;
        else       held <= held + (DEPTH_BITS+1)'(offered && ready) - (DEPTH_BITS+1)'(left);
    end
endmodule
