package kubelet

import (
	"strings"
	"time"
)

// info describes a container as docker inspect did in 2014. At the first door it is a task's
// currentState.info.
type info struct {
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

// infos returns the descriptions of the pod's containers by their names.
func (w *podWorker) infos() map[string]info {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]info{}
	for _, c := range w.containers {
		if c.kind == mainContainer {
			all[c.name] = w.describe(c)
		}
	}
	return all
}

// info returns the description of a container, of the first one if the name is empty.
func (w *podWorker) info(name string) (info, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.find(name)
	if c == nil {
		return info{}, false
	}
	return w.describe(c), true
}

// find returns the container of a name, the first one if that is empty.
func (w *podWorker) find(name string) *container {
	for _, c := range w.containers {
		if name == "" && c.kind == mainContainer || name != "" && (c.spec.Name == name || c.name == name) {
			return c
		}
	}
	return nil
}

// describe returns the description of a container. One that was not started has no id.
func (w *podWorker) describe(c *container) info {
	var state State
	if c.run != nil {
		state = c.run.State()
	} else if c.ended != nil {
		state = State{ID: c.ended.ContainerID, StartedAt: c.ended.StartedAt.Time, FinishedAt: c.ended.FinishedAt.Time, ExitCode: c.ended.ExitCode}
	}
	command := append(append([]string{}, cutAll(c.spec.Command)...), cutAll(c.spec.Args)...)
	i := info{
		ID: withoutScheme(state.ID), Created: state.CreatedAt, Image: withoutScheme(state.ImageID), Name: "/" + c.name, Args: []string{},
		Config:          infoConfig{Hostname: w.pod.Name, Image: cut(c.spec.Image), Cmd: command},
		State:           infoState{Running: state.Phase == Running, Pid: state.PID, ExitCode: state.ExitCode, StartedAt: state.StartedAt, FinishedAt: state.FinishedAt},
		NetworkSettings: infoNetwork{w.podIP()}, RestartCount: c.attempt,
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
