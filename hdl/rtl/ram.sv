// A simple dual-port memory of one clock, as block RAM has it.
//
// One port reads, the other writes. `read_data` is the word at the `read_index` of the clock before.
// A read and a write of one word in one clock give the old word to the reader. Nothing resets the
// words: block RAM holds zeros after the device is configured.
module ram #(
    parameter int INDEX_BITS = 10,  // the memory has 2^INDEX_BITS words
    parameter int DATA_BITS  = 8    // bits a word
) (
    input  logic                  clock,
    input  logic [INDEX_BITS-1:0] read_index,
    output logic [DATA_BITS-1:0]  read_data,
    input  logic                  write,
    input  logic [INDEX_BITS-1:0] write_index,
    input  logic [DATA_BITS-1:0]  write_data
);
    (* ram_style = "block" *) logic [DATA_BITS-1:0] cells [2**INDEX_BITS];

    always_ff @(posedge clock) begin
        read_data <= cells[read_index];
        if (write) cells[write_index] <= write_data;
    end
endmodule
