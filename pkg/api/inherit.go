package api

import (
	"maps"
	"math"
)

// Inherit implements Object.
func (t *Task) Inherit(earlier Object) {
	before := earlier.(*Task)
	t.ObjectMeta.Inherit(before)
	t.JSONBase, t.IsPod = before.JSONBase, before.IsPod
	t.DesiredState = t.DesiredState.inherit(before.DesiredState)
	machine := t.CurrentState.Host
	t.CurrentState = before.CurrentState
	t.CurrentState.Host = machine
}

// inherit returns the earlier state with the containers and volumes of s, which come from v1.
func (s TaskState) inherit(before TaskState) TaskState {
	volumes, containers := s.Manifest.Volumes, s.Manifest.Containers
	s = before
	if len(volumes)+len(s.Manifest.Volumes) > 0 { // nil and an empty slice differ in June 2014's JSON
		s.Manifest.Volumes = volumes
	}
	if len(containers)+len(s.Manifest.Containers) > 0 {
		s.Manifest.Containers = containers
	}
	for i := range min(len(containers), len(before.Manifest.Containers)) {
		inheritPorts(containers[i].Ports, before.Manifest.Containers[i].Ports)
	}
	return s
}

// inheritPorts removes protocols that v1 has defaulted if the earlier version omitted them, and
// restores the numbers.
func inheritPorts(ports, before []Port) {
	for i := range min(len(ports), len(before)) {
		if before[i].Protocol == "" && ports[i].Protocol == "TCP" {
			ports[i].Protocol = ""
		}
		inheritNumber(&ports[i].HostPort, before[i].HostPort)
		inheritNumber(&ports[i].ContainerPort, before[i].ContainerPort)
	}
}

// Int32 converts a number to v1, which has fewer bits for it: it clamps a number out of range.
func Int32(number int) int32 { return int32(min(max(number, math.MinInt32), math.MaxInt32)) }

// inheritNumber restores the earlier number unless v1 has changed it.
func inheritNumber(number *int, before int) {
	if *number == int(Int32(before)) {
		*number = before
	}
}

// Inherit implements Object.
func (c *ReplicationController) Inherit(earlier Object) {
	before := earlier.(*ReplicationController)
	c.ObjectMeta.Inherit(before)
	c.JSONBase = before.JSONBase
	state := &c.DesiredState
	inheritNumber(&state.Replicas, before.DesiredState.Replicas)
	inheritLabels(&state.ReplicasInSet, before.DesiredState.ReplicasInSet, state.TaskTemplate.Labels)
	inheritLabels(&c.Labels, before.Labels, state.TaskTemplate.Labels)
	state.TaskTemplate.DesiredState = state.TaskTemplate.DesiredState.inherit(before.DesiredState.TaskTemplate.DesiredState)
}

// inheritLabels removes labels that v1 has defaulted if the earlier version had none.
func inheritLabels(labels *map[string]string, before, byDefault map[string]string) {
	if len(before) == 0 && maps.Equal(*labels, byDefault) {
		*labels = before
	}
}

// Inherit implements Object.
func (s *Service) Inherit(earlier Object) {
	before := earlier.(*Service)
	s.ObjectMeta.Inherit(before)
	s.JSONBase = before.JSONBase
	inheritNumber(&s.Port, before.Port)
	if len(s.Labels)+len(before.Labels) == 0 { // it selects all tasks, or none, as before
		s.SelectsNothing = before.SelectsNothing
	}
}

// Inherit implements Object. If v1 has only reordered the addresses, the earlier order and its
// targets stay.
func (e *Endpoints) Inherit(earlier Object) {
	before := earlier.(*Endpoints)
	e.ObjectMeta.Inherit(before)
	if SameAddresses(e.Endpoints, before.Endpoints) {
		e.Endpoints, e.Targets = before.Endpoints, before.Targets
	}
}

// Inherit implements Object. Managed fields that are missing stay as they were.
func (m *ObjectMeta) Inherit(earlier Object) {
	if m.ManagedFields == nil {
		m.ManagedFields = earlier.Meta().ManagedFields
	}
}
