package fibula

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// Live is a file that is opened again when another has taken its name. Any number of goroutines may
// use it at once.
type Live struct {
	path string
	file atomic.Pointer[File]
	// One at a time opens.
	mutex sync.Mutex
	info  os.FileInfo
}

// OpenLive opens a file as [Open] does.
func OpenLive(path string) (*Live, error) {
	file, info, err := open(path)
	if err != nil {
		return nil, err
	}
	live := &Live{path: path, info: info}
	live.file.Store(file)
	return live, nil
}

// File returns what was opened last. It stays as it is: take it once for each request or batch.
func (l *Live) File() *File { return l.file.Load() }

// Refresh opens the file again if another has its name, or its length or time has changed, and
// returns whether it did. Call it from a timer, or on a signal. Nobody who looks up waits.
//
// After an error [Live.File] is what it was, and the next call tries again.
func (l *Live) Refresh() (bool, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now, err := os.Stat(l.path)
	if err != nil {
		return false, fmt.Errorf("fibula: %w", err)
	}
	if os.SameFile(now, l.info) && now.Size() == l.info.Size() && now.ModTime().Equal(l.info.ModTime()) {
		return false, nil
	}
	file, info, err := open(l.path)
	if err != nil {
		return false, err
	}
	l.info = info
	l.file.Store(file)
	return true, nil
}

// open maps and checks a file, and returns which one it was.
func open(path string) (*File, os.FileInfo, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("fibula: %w", err)
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("fibula: %w", err)
	}
	bytes, unmap, err := mapped(opened, info.Size())
	if err != nil {
		return nil, nil, fmt.Errorf("fibula: %s: %w", path, err)
	}
	file, err := parse(bytes)
	if err == nil {
		var after os.FileInfo
		after, err = opened.Stat()
		if err == nil && after.Size() != info.Size() {
			err = fmt.Errorf("is being rewritten: %d bytes, %d when it was opened", after.Size(), info.Size())
		}
	}
	if err != nil {
		unmap(nil)
		return nil, nil, fmt.Errorf("fibula: %s: %w", path, err)
	}
	unmap(file)
	return file, info, nil
}
