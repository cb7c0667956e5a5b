// A simple dual-port memory, as block RAM has it.
//
// One port reads, the other writes. `read_data` is the word at the `read_index` of CLOCKS clocks
// before: the second clock is the output register of the block. A read and a write of one word in
// one clock give the old word to the reader. Nothing resets the words: block RAM holds zeros after
// the device is configured.
module ram #(
    parameter int INDEX_BITS = 10,  // the memory has 2^INDEX_BITS words
    parameter int DATA_BITS  = 8,   // bits a word
    parameter int CLOCKS     = 1    // from an index to its word, 1 or 2
) (
    input  logic                  clock,
    input  logic [INDEX_BITS-1:0] read_index,
    output logic [DATA_BITS-1:0]  read_data,
    input  logic                  write,
    input  logic [INDEX_BITS-1:0] write_index,
    input  logic [DATA_BITS-1:0]  write_data
);
    (* ram_style = "block" *) logic [DATA_BITS-1:0] cells [2**INDEX_BITS];
    logic [DATA_BITS-1:0] read;

    always_ff @(posedge clock) begin
        read <= cells[read_index];
        if (write) cells[write_index] <= write_data;
    end

    if (CLOCKS == 2) begin : registered
        always_ff @(posedge clock) read_data <= read;
    end else begin : direct
        assign read_data = read;
    end
endmodule
