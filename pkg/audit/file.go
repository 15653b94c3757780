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

// File is where the lines are written.
type File struct {
	Path       string // - is standard output
	MaxAge     int    // of an old file in days, 0 for any
	MaxBackups int    // how many old files are kept, 0 for all
	MaxSize    int    // of the file in megabytes, 0 for 100
}

// Open opens the file, or makes it: who may not write it finds out here. Beyond its size it is
// renamed, and a new one is begun; a device or a pipe is not. Who reads a pipe, or standard output, is
// to go on reading: requests wait for that.
func (f File) Open() (io.Writer, error) {
	if f.Path == "-" {
		return os.Stdout, nil
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return nil, err
	}
	const neverWait = syscall.O_NONBLOCK                                                   // for somebody who reads a pipe
	file, err := os.OpenFile(f.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|neverWait, 0o600) // it tells what nobody else is to read
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
	maxSize int // in megabytes, 0 for the library's own
}

// Write writes a line. For one that is larger than a file may be, the file may be larger: the library
// would refuse it, and nobody would see what a client has done with a large request.
func (r *rotated) Write(line []byte) (int, error) {
	const libraryMaxSize, megabyte = 100, 1 << 20
	r.MaxSize = max(cmp.Or(r.maxSize, libraryMaxSize), len(line)/megabyte+1)
	return r.Logger.Write(line)
}
