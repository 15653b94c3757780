package hollow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kube2014/pkg/kubelet/cri"
)

// setup is what a container's definition says about commands. It does not change.
type setup struct {
	hostname, dir    string // empty by default
	env              []string
	mounted          map[string][]byte
	command          []string // its own; nil if that is not known
	stdin, once, tty bool     // of its own command
}

// noSetup is that of most containers.
var noSetup = &setup{}

// setupOf returns the setup of a container.
func setupOf(spec cri.Spec) *setup {
	c := spec.Container
	s := &setup{hostname: spec.Pod.Spec.Hostname, dir: c.WorkingDir, env: spec.Env, mounted: spec.Files, stdin: c.Stdin, once: c.StdinOnce, tty: c.TTY}
	if spec.Pod.Spec.HostNetwork {
		s.hostname = spec.Node
	}
	if command := slices.Concat(c.Command, c.Args); isKnown(command) {
		for _, word := range command {
			s.command = append(s.command, expand(word, spec.Env))
		}
	}
	if s.command == nil && s.hostname == "" && s.dir == "" && len(s.env)+len(s.mounted) == 0 {
		return noSetup
	}
	return s
}

// expand replaces each $(NAME) by the value of a variable that there is, and $$ by $.
func expand(text string, env []string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		text = after
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		switch {
		case strings.HasPrefix(after, "$"):
			text = after[1:]
		case strings.HasPrefix(after, "(") && closed:
			if value, exists := lookUp(env, name); exists {
				b.WriteString(value)
				text = rest
				continue
			}
		}
		b.WriteByte('$')
	}
}

// lookUp returns the last value of a variable.
func lookUp(env []string, name string) (value string, exists bool) {
	for _, variable := range env {
		if after, is := strings.CutPrefix(variable, name+"="); is {
			value, exists = after, true
		}
	}
	return value, exists
}

// inside is what commands in a container see. It is made when the first one runs.
type inside struct {
	hostname, dir string
	env           []string
	files         *files
	ended         context.Context // ends with the container
	end           context.CancelFunc
}

// insideLocked returns what commands in a container see.
func (c *container) insideLocked() *inside {
	if c.in != nil {
		return c.in
	}
	s := c.setup
	in := &inside{hostname: s.hostname, dir: s.dir}
	if in.hostname == "" {
		in.hostname = c.pod[:min(len(c.pod), maxHostname)]
	}
	if in.dir == "" {
		in.dir = "/"
	}
	for _, variable := range []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME=" + in.hostname} {
		if name, _, _ := strings.Cut(variable, "="); !has(s.env, name) {
			in.env = append(in.env, variable)
		}
	}
	in.env = append(in.env, s.env...)
	in.files = newFiles(map[string][]byte{
		"/etc/hostname": []byte(in.hostname + "\n"),
		"/etc/hosts":    fmt.Appendf(nil, "127.0.0.1\tlocalhost\n::1\tlocalhost\n%s\t%s\n", c.ip, in.hostname),
	}, s.mounted)
	if _, err := in.files.get(in.dir); err != nil { // runtimes make it
		_ = in.files.write(in.dir, nil, dirMode) // at worst, it is missing
	}
	in.ended, in.end = context.WithCancel(context.Background())
	c.in = in
	return in
}

const maxHostname = 63

func has(env []string, name string) bool {
	_, exists := lookUp(env, name)
	return exists
}
