// Package clienttest holds a stand-in for kubelets, and what no text for a client
// may hold, for tests.
package clienttest

import (
	"fmt"

	"kube2014/pkg/client"
)

// FakeContainerInfo answers for kubelets from a table: host, then container.
// What is not in the table is an error, as a kubelet that is away would be. It
// is safe for concurrent use while the table stays as it is.
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
