package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

const prefix = "/api/v1beta1/"

var resources = []string{"tasks", "replicationControllers", "services"}

// recording is a file of requests, as cmd/apiserver/testdata has them.
type recording struct {
	Machines []string
	Steps    []step
}

type step struct {
	Name, Method, Path, Body string
	// Deviation is what this request shows, if the original answers it wrongly.
	Deviation string
	Contract  struct {
		Status   int
		Body     string
		Contains []string
	}
	// Original has what the original answered on each store, memory and etcd.
	Original map[string]answer
}

func load(file string) (recording, error) {
	var recorded recording
	data, err := os.ReadFile(file)
	if err != nil {
		return recorded, err
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		return recorded, fmt.Errorf("%s: %w", file, err)
	}
	if len(recorded.Steps) == 0 {
		return recorded, fmt.Errorf("%s has no steps", file)
	}
	for _, resource := range slices.Backward(resources) {
		first := step{Name: "list no " + resource, Method: "GET", Path: prefix + resource}
		recorded.Steps = slices.Insert(recorded.Steps, 0, first)
	}
	return recorded, nil
}

// object names an object of a server.
type object struct{ resource, id string }

func (o object) String() string {
	return fmt.Sprintf("%s %q", strings.TrimSuffix(o.resource, "s"), o.id)
}

// makes returns the objects that a step may make: the original takes the id of
// the body, ours that of the path.
func (s step) makes() []object {
	path, ok := strings.CutPrefix(s.Path, prefix)
	if !ok || s.Method != "POST" && s.Method != "PUT" {
		return nil
	}
	var body struct{ ID string }
	_ = json.Unmarshal([]byte(s.Body), &body) // what cannot be read has no id
	resource, id, named := strings.Cut(path, "/")
	made := []object{{resource, body.ID}}
	if named {
		made = append(made, object{resource, id})
	}
	return made
}
