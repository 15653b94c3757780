package audit

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"gopkg.in/natefinch/lumberjack.v2"
)

// File is the file of the audit log.
type File struct {
	Path       string // - for standard output
	MaxAge     int    // of an old file in days, 0 for no limit
	MaxBackups int    // number of old files, 0 for no limit
	MaxSize    int    // of the file in megabytes, 0 for 100
}

// Open opens or creates the file; an error shows that it cannot be written. A file that exceeds its
// size is renamed, and a new one is created; devices and pipes are not renamed. The reader of a pipe,
// or of standard output, must continue to read, because requests wait for it.
func (f File) Open() (io.Writer, error) {
	if f.Path == "-" {
		return os.Stdout, nil
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return nil, err
	}
	const neverWait = syscall.O_NONBLOCK // for the reader of a pipe
	file, err := os.OpenFile(f.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|neverWait, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return file, nil
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return &rotated{lumberjack.Logger{Filename: f.Path, MaxAge: f.MaxAge, MaxBackups: f.MaxBackups}, f.MaxSize}, nil
}

// rotated is a file that is renamed when it is full. It is for one goroutine at a time.
type rotated struct {
	lumberjack.Logger
	maxSize int // in megabytes, 0 for the library's default
}

// Write writes a line. A line that is larger than the file may be raises the limit: the library would
// refuse it, and a client could hide an action in a large request.
func (r *rotated) Write(line []byte) (int, error) {
	const libraryMaxSize, megabyte = 100, 1 << 20
	r.MaxSize = max(cmp.Or(r.maxSize, libraryMaxSize), len(line)/megabyte+1)
	return r.Logger.Write(line)
}
