//go:build !unix

package fibula

import (
	"io"
	"os"
)

// mapped reads a file into memory, where files cannot be mapped.
func mapped(file *os.File, size int64) ([]byte, func(*File), error) {
	words := make([]uint64, (size+7)/8)
	bytes := cast[byte](words)[:size]
	_, err := io.ReadFull(file, bytes)
	return bytes, func(*File) {}, err
}
