// Package clienttest has, for tests, a fake kubelet and a check that error texts
// reveal no internals.
package clienttest

import (
	"fmt"

	"kube2014/pkg/client"
)

// FakeContainerInfo answers from a table, by host and container. A missing entry
// is an error, like a kubelet that is down. It is safe for concurrent use as
// long as the table does not change.
type FakeContainerInfo map[string]map[string]interface{}

var _ client.ContainerInfo = FakeContainerInfo(nil)

// GetContainerInfo returns what the table says.
func (f FakeContainerInfo) GetContainerInfo(host, name string) (interface{}, error) {
	info, ok := f[host][name]
	if !ok {
		return nil, fmt.Errorf("host %q has no container %q", host, name)
	}
	return info, nil
}
