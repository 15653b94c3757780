package hollow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/hollow/memfs"
)

// setup is what a container's definition says about commands. It does not change.
type setup struct {
	hostname, dir    string // empty by default
	env              []string
	mounted          map[string][]byte
	folders          map[string]cri.Folder
	command          []string // its own; nil if that is not known
	unknown          string   // the name of a command that is not
	stdin, once, tty bool     // of its own command
}

// noSetup is that of most containers.
var noSetup = &setup{}

// setupOf returns the setup of a container.
func setupOf(spec cri.Spec) *setup {
	c := spec.Container
	s := &setup{hostname: spec.Pod.Spec.Hostname, dir: c.WorkingDir, env: spec.Env, mounted: spec.Files, folders: spec.Folders, stdin: c.Stdin, once: c.StdinOnce, tty: c.TTY}
	if spec.Pod.Spec.HostNetwork {
		s.hostname = spec.Node
	}
	if command := slices.Concat(c.Command, c.Args); isKnown(command) {
		s.command = command
	} else if len(command) > 0 && !strings.HasPrefix(command[0], "-") { // else they are arguments of what the image runs
		s.unknown = command[0]
	}
	if s.command == nil && s.unknown == "" && s.hostname == "" && s.dir == "" && len(s.env)+len(s.mounted)+len(s.folders) == 0 {
		return noSetup
	}
	return s
}

// inside is what commands in a container see. It is made when the first one runs.
type inside struct {
	hostname, dir string
	env           []string
	files         *memfs.Files
	ended         context.Context // ends with the container
	end           context.CancelFunc
}

// insideLocked returns what commands in a container see.
func (c *container) insideLocked() *inside {
	if c.in != nil {
		return c.in
	}
	s := c.setup
	in := &inside{hostname: cmp.Or(s.hostname, c.pod[:min(len(c.pod), maxHostname)]), dir: cmp.Or(s.dir, "/")}
	for _, variable := range []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME=" + in.hostname} {
		name, _, _ := strings.Cut(variable, "=")
		if !slices.ContainsFunc(s.env, func(own string) bool { return strings.HasPrefix(own, name+"=") }) {
			in.env = append(in.env, variable)
		}
	}
	in.env = append(in.env, s.env...)
	in.files = memfs.New(map[string][]byte{
		"/etc/hostname": []byte(in.hostname + "\n"),
		"/etc/hosts":    fmt.Appendf(nil, "127.0.0.1\tlocalhost\n::1\tlocalhost\n%s\t%s\n", c.ip, in.hostname),
	}, s.mounted, s.folders)
	if _, err := in.files.Get(in.dir); err != nil { // runtimes make it
		_ = in.files.Write(in.dir, nil, memfs.DirMode) // at worst, it is missing
	}
	in.ended, in.end = context.WithCancel(context.Background())
	c.in = in
	return in
}

const maxHostname = 63
