// A table on chip, and the writes that name it. The answer comes CLOCKS clocks after the index.
//
// The word of a write is {memory, index, data}. Every stage sees every write, and takes those to
// its own `MEMORY`.
module table_stage #(
    parameter int MEMORY      = 0,  // the number of this table in a write
    parameter int INDEX_BITS  = 16,
    parameter int DATA_BITS   = 16,
    parameter int CLOCKS      = 1,  // 1, or 2 with a register behind the memory
    parameter int WRITE_BITS  = 96,
    parameter int WRITE_INDEX = 26, // the bits of an index in a write
    parameter int WRITE_DATA  = 64  // the bits of data in a write
) (
    input  logic                  clock,
    input  logic [INDEX_BITS-1:0] index,
    output logic [DATA_BITS-1:0]  data,
    input  logic                  write,
    input  logic [WRITE_BITS-1:0] word
);
    localparam int NAME = WRITE_INDEX + WRITE_DATA;

    ram #(.INDEX_BITS(INDEX_BITS), .DATA_BITS(DATA_BITS), .CLOCKS(CLOCKS)) words (
        .clock,
        .read_index(index),
        .read_data(data),
        .write(write && word[NAME +: WRITE_BITS-NAME] == (WRITE_BITS-NAME)'(MEMORY)),
        .write_index(word[WRITE_DATA +: INDEX_BITS]),
        .write_data(word[0 +: DATA_BITS])
    );

    // A write has room for the widest table; this one takes the low bits.
    wire unused = &{1'b0, word};
endmodule
