package client

import "errors"

// ContainerInfo returns information about running containers.
type ContainerInfo interface {
	// GetContainerInfo returns the information of the host's kubelet about the
	// container: a value decoded from JSON, which the caller owns. It is safe for
	// concurrent use.
	GetContainerInfo(host, name string) (interface{}, error)
}

// ErrKubeletSkipped is returned without a request if the kubelet failed a short
// while ago.
var ErrKubeletSkipped = errors.New("the kubelet failed a short while ago and is not asked yet")
