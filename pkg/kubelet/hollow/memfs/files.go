// Package memfs is the file system of a container in memory.
package memfs

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"kube2014/pkg/kubelet/cri"
)

const (
	// MaxWritten is how many bytes were written into a container at most, counted with their names.
	MaxWritten = 1 << 20
	fileCost   = 128 // of each file and folder, besides its name and its text

	// DirMode is the mode of a folder.
	DirMode = fs.ModeDir | 0o755
)

// File is a file or a folder. It does not change.
type File struct {
	Text    []byte
	Mode    fs.FileMode
	Changed time.Time
	fixed   bool // it was mounted
}

// Files is the file system of a container. It is safe for concurrent use. Its errors are those of the system.
type Files struct {
	mu      sync.Mutex // guards what follows
	all     map[string]File
	written int // in bytes

	mounts map[string]mount // by their paths; it does not change
}

// mount is a folder of another file system.
type mount struct {
	of       *Files
	path     string
	readOnly bool
}

// New returns a file system with files that are mounted over others, and over folders.
func New(own, mounted map[string][]byte, folders map[string]cri.Folder) *Files {
	f, now := &Files{all: map[string]File{}, mounts: map[string]mount{}}, time.Now()
	for name, text := range own {
		f.put(name, File{Text: text, Mode: 0o644, Changed: now})
	}
	for name, text := range mounted {
		f.put(name, File{Text: text, Mode: 0o644, Changed: now, fixed: true})
	}
	f.put("/tmp", File{Mode: fs.ModeDir | fs.ModeSticky | 0o777, Changed: now})
	for at, folder := range folders {
		of := folder.Volume.Content(func() any { return newVolume() }).(*Files)
		m := mount{of, path.Join("/", folder.Path), folder.ReadOnly}
		_ = of.Write(m.path, nil, DirMode) // at worst, it is missing
		f.mounts[at] = m
		f.put(at, File{Mode: fs.ModeDir | 0o777, Changed: now})
	}
	return f
}

// newVolume returns the empty file system of a volume.
func newVolume() *Files {
	f := &Files{all: map[string]File{}}
	f.put("/", File{Mode: fs.ModeDir | 0o777, Changed: time.Now()})
	return f
}

// mounted returns what is mounted where a path leads to, and the path there. The innermost mount counts.
func (f *Files) mounted(name string) (m mount, within string, isMounted bool) {
	if len(f.mounts) == 0 {
		return mount{}, "", false
	}
	for at := name; ; at = path.Dir(at) {
		if m, isMounted := f.mounts[at]; isMounted {
			return m, path.Join(m.path, strings.TrimPrefix(name, at)), true
		}
		if at == "/" {
			return mount{}, "", false
		}
	}
}

// put sets a file or a folder, and makes the folders above it.
func (f *Files) put(name string, put File) {
	name = path.Clean(name)
	if parent := path.Dir(name); parent != name {
		if _, exists := f.all[parent]; !exists {
			f.put(parent, File{Mode: DirMode, Changed: put.Changed})
		}
	}
	f.all[name] = put
}

// Get returns the file or folder of a clean, absolute path.
func (f *Files) Get(name string) (File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if got, exists := f.all[name]; exists {
		return got, nil
	}
	if m, within, isMounted := f.mounted(name); isMounted {
		return m.of.Get(within)
	}
	return File{}, syscall.ENOENT
}

// Write sets a file or a folder. The text belongs to the file system then.
func (f *Files) Write(name string, text []byte, mode fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	there, exists := f.all[name]
	if m, within, isMounted := f.mounted(name); isMounted && !exists {
		if m.readOnly {
			return syscall.EROFS
		}
		return m.of.Write(within, text, mode)
	}
	switch {
	case exists && there.fixed:
		return syscall.EROFS
	case exists && there.Mode.IsDir() && mode.IsDir():
		return nil
	case exists && there.Mode.IsDir():
		return syscall.EISDIR
	case exists && mode.IsDir():
		return syscall.EEXIST
	}
	more := fileCost + len(name) + len(text)
	if exists {
		more = len(text) - len(there.Text)
	}
	for parent := path.Dir(name); ; parent = path.Dir(parent) {
		if above, exists := f.all[parent]; exists {
			if !above.Mode.IsDir() {
				return syscall.ENOTDIR
			}
			break
		}
		more += fileCost + len(parent)
	}
	if f.written+more > MaxWritten {
		return syscall.ENOSPC
	}
	f.written += more
	f.put(name, File{Text: text, Mode: mode, Changed: time.Now()})
	return nil
}

// Under returns the names of what is in a folder, and with deep also in those below it, in order.
func (f *Files) Under(folder string, deep bool) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Collect(maps.Keys(f.all))
	for at, m := range f.mounts {
		for _, within := range m.of.Under(m.path, true) {
			name := path.Join(at, strings.TrimPrefix(within, m.path))
			if there, _, _ := f.mounted(name); there == m { // else it is hidden
				all = append(all, name)
			}
		}
	}
	prefix := strings.TrimSuffix(folder, "/") + "/"
	all = slices.DeleteFunc(all, func(name string) bool {
		rest, below := strings.CutPrefix(name, prefix)
		return !below || rest == "" || !deep && strings.Contains(rest, "/")
	})
	slices.Sort(all)
	return slices.Compact(all)
}
