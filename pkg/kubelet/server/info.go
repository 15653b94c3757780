package server

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
)

// Info describes a container as docker inspect did in 2014. At the first door it is a task's
// currentState.info.
type Info struct {
	ID      string
	Created time.Time
	Path    string
	Args    []string
	Config  infoConfig
	State   infoState
	Image   string
	Name    string

	NetworkSettings infoNetwork
	RestartCount    int32
}

type infoConfig struct {
	Hostname string
	Image    string
	Cmd      []string
}

type infoState struct {
	Running    bool
	Pid        int
	ExitCode   int32
	StartedAt  time.Time
	FinishedAt time.Time
}

type infoNetwork struct {
	IPAddress string
}

const (
	// What a client has said at length is cut, so that an answer stays small.
	maxInfoArgs = 16
	maxInfoText = 256
)

// Described is a container as its kubelet knows it.
type Described struct {
	Pod, Name string // the pod's name, and the container's in it
	Spec      *corev1.Container
	State     cri.State
	IP        string
	Restarts  int32
}

// Describe returns the description of a container. One that was not started has no id.
func Describe(c Described) Info {
	spec := c.Spec
	command := append(append([]string{}, cutAll(spec.Command)...), cutAll(spec.Args)...)
	i := Info{
		ID: withoutScheme(c.State.ID), Created: c.State.CreatedAt, Image: withoutScheme(c.State.ImageID), Name: "/" + c.Name, Args: []string{},
		Config: infoConfig{Hostname: c.Pod, Image: cut(spec.Image), Cmd: command},
		State: infoState{Running: c.State.Phase == cri.Running, Pid: c.State.PID, ExitCode: c.State.ExitCode,
			StartedAt: c.State.StartedAt, FinishedAt: c.State.FinishedAt},
		NetworkSettings: infoNetwork{c.IP}, RestartCount: c.Restarts,
	}
	if len(command) > 0 {
		i.Path, i.Args = command[0], command[1:]
	}
	return i
}

func withoutScheme(id string) string {
	if _, after, found := strings.Cut(id, "://"); found {
		return after
	}
	return id
}

func cut(text string) string { return text[:min(len(text), maxInfoText)] }

func cutAll(texts []string) []string {
	var all []string
	for _, text := range texts[:min(len(texts), maxInfoArgs)] {
		all = append(all, cut(text))
	}
	return all
}
