package v1beta1

import (
	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
)

// Version is the name of this version of the API.
const Version = "v1beta1"

// Codec reads and writes the JSON of this version. Answers are indented, as in the
// original.
var Codec = func() *conversion.Codec {
	scheme := conversion.NewScheme()
	AddToScheme(scheme)
	return conversion.NewCodec(scheme, Version, "    ")
}()

// AddToScheme registers the objects of this version and their conversions.
func AddToScheme(scheme *conversion.Scheme) {
	scheme.AddKnownTypes(conversion.Internal, api.Task{}, api.TaskList{}, api.ReplicationController{},
		api.ReplicationControllerList{}, api.Service{}, api.ServiceList{}, api.Endpoints{}, api.ContainerManifest{})
	scheme.AddKnownTypes(Version, Task{}, TaskList{}, ReplicationController{},
		ReplicationControllerList{}, Service{}, ServiceList{}, Endpoints{}, ContainerManifest{})
	conversion.AddFuncs(scheme, total(taskToInternal), total(taskToVersioned))
	conversion.AddFuncs(scheme, total(taskListToInternal), total(taskListToVersioned))
	conversion.AddFuncs(scheme, total(controllerToInternal), total(controllerToVersioned))
	conversion.AddFuncs(scheme, total(controllerListToInternal), total(controllerListToVersioned))
	conversion.AddFuncs(scheme, total(serviceToInternal), total(serviceToVersioned))
	conversion.AddFuncs(scheme, total(serviceListToInternal), total(serviceListToVersioned))
	conversion.AddFuncs(scheme, total(endpointsToInternal), total(endpointsToVersioned))
	conversion.AddFuncs(scheme, total(manifestToInternal), total(manifestToVersioned))
}

// total adapts a conversion that cannot fail.
func total[In, Out any](convert func(In) Out) func(In) (Out, error) {
	return func(in In) (Out, error) { return convert(in), nil }
}

// The functions …ToInternal convert from this version to the internal one, the functions …ToVersioned back.
// Their results share maps with their arguments.

func taskToInternal(in Task) api.Task {
	return api.Task{
		JSONBase:     api.JSONBase(in.JSONBase),
		Labels:       in.Labels,
		DesiredState: stateToInternal(in.DesiredState),
		CurrentState: stateToInternal(in.CurrentState),
	}
}

func taskToVersioned(in api.Task) Task {
	return Task{
		JSONBase:     JSONBase(in.JSONBase),
		Labels:       in.Labels,
		DesiredState: stateToVersioned(in.DesiredState),
		CurrentState: stateToVersioned(in.CurrentState),
	}
}

func taskListToInternal(in TaskList) api.TaskList {
	return api.TaskList{JSONBase: api.JSONBase(in.JSONBase), Items: conversion.Each(in.Items, taskToInternal)}
}

func taskListToVersioned(in api.TaskList) TaskList {
	return TaskList{JSONBase: JSONBase(in.JSONBase), Items: conversion.Each(in.Items, taskToVersioned)}
}

func controllerToInternal(in ReplicationController) api.ReplicationController {
	state := in.DesiredState
	return api.ReplicationController{
		JSONBase: api.JSONBase(in.JSONBase),
		Labels:   in.Labels,
		DesiredState: api.ReplicationControllerState{
			Replicas:      state.Replicas,
			ReplicasInSet: state.ReplicasInSet,
			TaskTemplate: api.TaskTemplate{
				DesiredState: stateToInternal(state.TaskTemplate.DesiredState),
				Labels:       state.TaskTemplate.Labels,
			},
		},
	}
}

func controllerToVersioned(in api.ReplicationController) ReplicationController {
	state := in.DesiredState
	return ReplicationController{
		JSONBase: JSONBase(in.JSONBase),
		Labels:   in.Labels,
		DesiredState: ReplicationControllerState{
			Replicas:      state.Replicas,
			ReplicasInSet: state.ReplicasInSet,
			TaskTemplate: TaskTemplate{
				DesiredState: stateToVersioned(state.TaskTemplate.DesiredState),
				Labels:       state.TaskTemplate.Labels,
			},
		},
	}
}

func controllerListToInternal(in ReplicationControllerList) api.ReplicationControllerList {
	return api.ReplicationControllerList{JSONBase: api.JSONBase(in.JSONBase), Items: conversion.Each(in.Items, controllerToInternal)}
}

func controllerListToVersioned(in api.ReplicationControllerList) ReplicationControllerList {
	return ReplicationControllerList{JSONBase: JSONBase(in.JSONBase), Items: conversion.Each(in.Items, controllerToVersioned)}
}

func serviceToInternal(in Service) api.Service {
	return api.Service{JSONBase: api.JSONBase(in.JSONBase), Port: in.Port, Labels: in.Labels}
}

func serviceToVersioned(in api.Service) Service {
	return Service{JSONBase: JSONBase(in.JSONBase), Port: in.Port, Labels: in.Labels}
}

func serviceListToInternal(in ServiceList) api.ServiceList {
	return api.ServiceList{Items: conversion.Each(in.Items, serviceToInternal)}
}

func serviceListToVersioned(in api.ServiceList) ServiceList {
	return ServiceList{Items: conversion.Each(in.Items, serviceToVersioned)}
}

func endpointsToInternal(in Endpoints) api.Endpoints {
	return api.Endpoints{Name: in.Name, Endpoints: in.Endpoints}
}

func endpointsToVersioned(in api.Endpoints) Endpoints {
	return Endpoints{Name: in.Name, Endpoints: in.Endpoints}
}

func stateToInternal(in TaskState) api.TaskState {
	return api.TaskState{Manifest: manifestToInternal(in.Manifest), Status: in.Status, Host: in.Host, HostIP: in.HostIP, Info: in.Info}
}

func stateToVersioned(in api.TaskState) TaskState {
	return TaskState{Manifest: manifestToVersioned(in.Manifest), Status: in.Status, Host: in.Host, HostIP: in.HostIP, Info: in.Info}
}

func manifestToInternal(in ContainerManifest) api.ContainerManifest {
	return api.ContainerManifest{
		Version:    in.Version,
		Volumes:    conversion.Each(in.Volumes, func(v Volume) api.Volume { return api.Volume(v) }),
		Containers: conversion.Each(in.Containers, containerToInternal),
		Id:         in.Id,
	}
}

func manifestToVersioned(in api.ContainerManifest) ContainerManifest {
	return ContainerManifest{
		Version:    in.Version,
		Volumes:    conversion.Each(in.Volumes, func(v api.Volume) Volume { return Volume(v) }),
		Containers: conversion.Each(in.Containers, containerToVersioned),
		Id:         in.Id,
	}
}

func containerToInternal(in Container) api.Container {
	return api.Container{
		Name:         in.Name,
		Image:        in.Image,
		Command:      in.Command,
		WorkingDir:   in.WorkingDir,
		Ports:        conversion.Each(in.Ports, func(p Port) api.Port { return api.Port(p) }),
		Env:          conversion.Each(in.Env, func(v EnvVar) api.EnvVar { return api.EnvVar(v) }),
		Memory:       in.Memory,
		CPU:          in.CPU,
		VolumeMounts: conversion.Each(in.VolumeMounts, func(m VolumeMount) api.VolumeMount { return api.VolumeMount(m) }),
	}
}

func containerToVersioned(in api.Container) Container {
	return Container{
		Name:         in.Name,
		Image:        in.Image,
		Command:      in.Command,
		WorkingDir:   in.WorkingDir,
		Ports:        conversion.Each(in.Ports, func(p api.Port) Port { return Port(p) }),
		Env:          conversion.Each(in.Env, func(v api.EnvVar) EnvVar { return EnvVar(v) }),
		Memory:       in.Memory,
		CPU:          in.CPU,
		VolumeMounts: conversion.Each(in.VolumeMounts, func(m api.VolumeMount) VolumeMount { return VolumeMount(m) }),
	}
}
