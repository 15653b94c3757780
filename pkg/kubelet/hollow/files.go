package hollow

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
	// What was written into a container counts with its names, and has maxWritten bytes at most.
	maxWritten = 1 << 20
	fileCost   = 128 // of each file and folder, besides its name and its text

	dirMode = fs.ModeDir | 0o755
)

// file is a file or a folder. It does not change.
type file struct {
	text    []byte
	mode    fs.FileMode
	changed time.Time
	fixed   bool // it was mounted
}

// files is the file system of a container. It is safe for concurrent use. Its errors are those of the system.
type files struct {
	mu      sync.Mutex // guards what follows
	all     map[string]file
	written int // in bytes

	mounts map[string]mount // by their paths; it does not change
}

// mount is a folder of another file system.
type mount struct {
	of       *files
	path     string
	readOnly bool
}

// newFiles returns a file system with files that are mounted over others, and over folders.
func newFiles(own, mounted map[string][]byte, folders map[string]cri.Folder) *files {
	f, now := &files{all: map[string]file{}, mounts: map[string]mount{}}, time.Now()
	for name, text := range own {
		f.put(name, file{text: text, mode: 0o644, changed: now})
	}
	for name, text := range mounted {
		f.put(name, file{text: text, mode: 0o644, changed: now, fixed: true})
	}
	f.put("/tmp", file{mode: fs.ModeDir | fs.ModeSticky | 0o777, changed: now})
	for at, folder := range folders {
		of := folder.Volume.Content(func() any { return newVolume() }).(*files)
		m := mount{of, path.Join("/", folder.Path), folder.ReadOnly}
		_ = of.write(m.path, nil, dirMode) // at worst, it is missing
		f.mounts[at] = m
		f.put(at, file{mode: fs.ModeDir | 0o777, changed: now})
	}
	return f
}

// newVolume returns the empty file system of a volume.
func newVolume() *files {
	f := &files{all: map[string]file{}}
	f.put("/", file{mode: fs.ModeDir | 0o777, changed: time.Now()})
	return f
}

// mounted returns what is mounted where a path leads to, and the path there. The innermost mount counts.
func (f *files) mounted(name string) (m mount, within string, isMounted bool) {
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
func (f *files) put(name string, put file) {
	name = path.Clean(name)
	if parent := path.Dir(name); parent != name {
		if _, exists := f.all[parent]; !exists {
			f.put(parent, file{mode: dirMode, changed: put.changed})
		}
	}
	f.all[name] = put
}

// get returns the file or folder of a clean, absolute path.
func (f *files) get(name string) (file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if got, exists := f.all[name]; exists {
		return got, nil
	}
	if m, within, isMounted := f.mounted(name); isMounted {
		return m.of.get(within)
	}
	return file{}, syscall.ENOENT
}

// write sets a file or a folder. The text belongs to the file system then.
func (f *files) write(name string, text []byte, mode fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	there, exists := f.all[name]
	if m, within, isMounted := f.mounted(name); isMounted && !exists {
		if m.readOnly {
			return syscall.EROFS
		}
		return m.of.write(within, text, mode)
	}
	switch {
	case exists && there.fixed:
		return syscall.EROFS
	case exists && there.mode.IsDir() && mode.IsDir():
		return nil
	case exists && there.mode.IsDir():
		return syscall.EISDIR
	case exists && mode.IsDir():
		return syscall.EEXIST
	}
	more := fileCost + len(name) + len(text)
	if exists {
		more = len(text) - len(there.text)
	}
	for parent := path.Dir(name); ; parent = path.Dir(parent) {
		if above, exists := f.all[parent]; exists {
			if !above.mode.IsDir() {
				return syscall.ENOTDIR
			}
			break
		}
		more += fileCost + len(parent)
	}
	if f.written+more > maxWritten {
		return syscall.ENOSPC
	}
	f.written += more
	f.put(name, file{text: text, mode: mode, changed: time.Now()})
	return nil
}

// under returns the names of what is in a folder, and with deep also in those below it, in order.
func (f *files) under(folder string, deep bool) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Collect(maps.Keys(f.all))
	for at, m := range f.mounts {
		for _, within := range m.of.under(m.path, true) {
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
