//go:build unix

package fibula

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// mapped maps a file, and returns what unmaps it: at once, or when nothing refers to a File.
func mapped(file *os.File, size int64) ([]byte, func(*File), error) {
	if size == 0 {
		return nil, func(*File) {}, nil
	}
	if size != int64(int(size)) {
		return nil, nil, fmt.Errorf("cannot be mapped: %d bytes", size)
	}
	bytes, err := syscall.Mmap(int(file.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot be mapped: %w", err)
	}
	unmap := func(bytes []byte) { _ = syscall.Munmap(bytes) }
	return bytes, func(file *File) {
		if file == nil {
			unmap(bytes)
		} else {
			runtime.AddCleanup(file, unmap, bytes)
		}
	}, nil
}
