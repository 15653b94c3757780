package api

import (
	"slices"
	"strconv"
)

// Claim is something that no two objects may hold at once: a host port of a machine.
type Claim struct {
	Space  string // where the number is unique: the machine
	Number int
}

// HostPorts is the directory of the host ports of all machines.
const HostPorts = "hostports"

// Path returns the claim as a part of a key.
func (c Claim) Path() string { return HostPorts + "/" + c.Space + "/" + strconv.Itoa(c.Number) }

// AppendClaims implements Object: a task on a machine claims its host ports there.
func (t *Task) AppendClaims(claims []Claim) []Claim {
	if t.CurrentState.Host != "" {
		for port := range t.eachHostPort {
			claims = append(claims, Claim{t.CurrentState.Host, port})
		}
	}
	return claims
}

// HostPorts returns the host ports that the task needs.
func (t *Task) HostPorts() []int { return slices.Collect(t.eachHostPort) }

// eachHostPort yields the host ports that the task needs. Port 0 means none: it collides
// with nothing (D19).
func (t *Task) eachHostPort(send func(int) bool) {
	for i := range t.DesiredState.Manifest.Containers {
		for _, port := range t.DesiredState.Manifest.Containers[i].Ports {
			if port.HostPort != 0 && !send(port.HostPort) {
				return
			}
		}
	}
}

// AppendClaims implements Object: most objects claim nothing.
func (*ObjectMeta) AppendClaims(claims []Claim) []Claim { return claims }
