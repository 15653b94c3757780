// Package manifestlist encodes the lists of manifests that kubelets of June 2014 read in etcd.
package manifestlist

import (
	"bytes"
	"encoding/json"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
)

// Manifest is one manifest in a list. It retains the stored bytes, so that what
// another program wrote does not change. Only its id and its host ports are decoded.
type Manifest struct {
	Raw   json.RawMessage
	ID    string
	Ports []int // the host ports
}

// New returns a manifest in its stored form.
func New(manifest api.ContainerManifest) (Manifest, error) {
	raw, err := v1beta1.Codec.Marshal(manifest)
	if err != nil {
		return Manifest{}, &api.Error{Kind: api.Internal, Message: "the manifest cannot be encoded as JSON", Err: err}
	}
	return makeManifest(raw)
}

// makeManifest decodes a manifest from JSON.
func makeManifest(raw json.RawMessage) (Manifest, error) {
	var decoded struct {
		ID         string `json:"id"`
		Containers []struct {
			Ports []struct {
				HostPort int `json:"hostPort"`
			} `json:"ports"`
		} `json:"containers"`
	}
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return Manifest{}, err
	}
	m := Manifest{Raw: raw, ID: decoded.ID}
	for _, container := range decoded.Containers {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				m.Ports = append(m.Ports, port.HostPort)
			}
		}
	}
	return m, nil
}

// Decode decodes a list of manifests. It is never indented for an answer,
// so its size is not limited.
func Decode(value string) ([]Manifest, error) {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(value), &list); err != nil {
		return nil, err
	}
	manifests := make([]Manifest, len(list))
	for i, raw := range list {
		var err error
		if manifests[i], err = makeManifest(raw); err != nil {
			return nil, err
		}
	}
	return manifests, nil
}

// Matches reports whether a manifest is the task's, plus variables in the
// environment of its containers. Any variables are accepted: they depend on the
// services at that time.
func (m Manifest) Matches(task *api.Task) bool {
	want := task.DesiredState.Manifest
	want.Id = task.ID
	var got api.ContainerManifest
	if err := v1beta1.Codec.Unmarshal(m.Raw, &got); err != nil {
		return false
	}
	if len(got.Containers) != len(want.Containers) {
		return false
	}
	for i := range got.Containers {
		own := want.Containers[i].Env
		if len(got.Containers[i].Env) < len(own) {
			return false
		}
		if got.Containers[i].Env = got.Containers[i].Env[:len(own)]; len(own) == 0 {
			got.Containers[i].Env = own
		}
	}
	gotJSON, gotErr := v1beta1.Codec.Marshal(got) // null and [] mean the same where the JSON leaves both out
	wantJSON, wantErr := v1beta1.Codec.Marshal(want)
	return gotErr == nil && wantErr == nil && bytes.Equal(gotJSON, wantJSON)
}

// Encode returns the JSON of a list of manifests.
func Encode(manifests []Manifest) string {
	size := len("[]") + len(manifests)
	for _, manifest := range manifests {
		size += len(manifest.Raw)
	}
	var list strings.Builder
	list.Grow(size) // it may be large: no copy is made of it
	list.WriteByte('[')
	for i, manifest := range manifests {
		if i > 0 {
			list.WriteByte(',')
		}
		list.Write(manifest.Raw)
	}
	list.WriteByte(']')
	return list.String()
}
