package volumemanager

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/envvars"
)

// maxFiles is how many files a container may have from volumes.
const maxFiles = 10000

// Mount mounts volumes in a container. Its environment is for the paths in them.
func Mount(spec *cri.Spec, c *corev1.Container, volumes map[string]Volume, e *envvars.Environment) error {
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		sub, err := subPathOf(m, e)
		if err != nil {
			return err
		}
		at := path.Join("/", m.MountPath)
		if shared := volumes[m.Name].shared; shared != nil {
			if spec.Folders == nil {
				spec.Folders = map[string]cri.Folder{}
			}
			spec.Folders[at] = cri.Folder{Volume: shared, Path: sub, ReadOnly: m.ReadOnly}
		}
		for name, content := range volumes[m.Name].files {
			within, isSeen := below(name, sub)
			if !isSeen {
				continue
			}
			if spec.Files == nil {
				spec.Files = map[string][]byte{}
			}
			if spec.Files[path.Join(at, within)] = content; len(spec.Files) > maxFiles {
				return fmt.Errorf("the volumes have more than %d files", maxFiles)
			}
		}
	}
	return nil
}

// below returns the path of a file from a directory of its volume on. It is empty for the file itself.
func below(name, sub string) (within string, isBelow bool) {
	if sub == "" || name == sub {
		return strings.TrimPrefix(name, sub), true
	}
	return strings.CutPrefix(name, sub+"/")
}

// subPathOf returns which part of a volume is mounted, empty for all of it.
func subPathOf(m *corev1.VolumeMount, e *envvars.Environment) (string, error) {
	sub := m.SubPath
	if m.SubPathExpr != "" {
		var missing []string
		var err error
		sub, err = envvars.Expand(m.SubPathExpr, func(name string) (string, bool) {
			value, _ := e.Find(name)
			if value == "" {
				missing = append(missing, name)
			}
			return value, true
		})
		if len(missing) > 0 {
			slices.Sort(missing)
			err = fmt.Errorf("missing value for %s", strings.Join(slices.Compact(missing), ", "))
		}
		if err != nil {
			return "", err
		}
	}
	if sub = path.Clean(sub); sub == "." {
		sub = ""
	}
	return sub, nil
}
