package cri

import "sync"

// Volume is a volume that the containers of a pod share, and write to. The zero value is an empty one. It is safe for
// concurrent use.
type Volume struct {
	once    sync.Once
	content any
}

// Content returns what the runtime keeps in the volume. It is made when it is first needed.
func (v *Volume) Content(empty func() any) any {
	v.once.Do(func() { v.content = empty() })
	return v.content
}

// Folder is a folder of a volume that a container mounts.
type Folder struct {
	Volume   *Volume
	Path     string // in the volume; empty for all of it
	ReadOnly bool
}
