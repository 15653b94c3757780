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
	conversion.AddFuncs(scheme, total(inTask), total(outTask))
	conversion.AddFuncs(scheme, total(inTaskList), total(outTaskList))
	conversion.AddFuncs(scheme, total(inController), total(outController))
	conversion.AddFuncs(scheme, total(inControllerList), total(outControllerList))
	conversion.AddFuncs(scheme, total(inService), total(outService))
	conversion.AddFuncs(scheme, total(inServiceList), total(outServiceList))
	conversion.AddFuncs(scheme, total(inEndpoints), total(outEndpoints))
	conversion.AddFuncs(scheme, total(inManifest), total(outManifest))
}

// total adapts a conversion that cannot fail.
func total[In, Out any](convert func(In) Out) func(In) (Out, error) {
	return func(in In) (Out, error) { return convert(in), nil }
}

// The functions in… convert from this version to the internal one, the functions out… back.
// Their results share maps with their arguments.

func inTask(in Task) api.Task {
	return api.Task{
		JSONBase:     api.JSONBase(in.JSONBase),
		Labels:       in.Labels,
		DesiredState: inState(in.DesiredState),
		CurrentState: inState(in.CurrentState),
	}
}

func outTask(in api.Task) Task {
	return Task{
		JSONBase:     JSONBase(in.JSONBase),
		Labels:       in.Labels,
		DesiredState: outState(in.DesiredState),
		CurrentState: outState(in.CurrentState),
	}
}

func inTaskList(in TaskList) api.TaskList {
	return api.TaskList{JSONBase: api.JSONBase(in.JSONBase), Items: conversion.Each(in.Items, inTask)}
}

func outTaskList(in api.TaskList) TaskList {
	return TaskList{JSONBase: JSONBase(in.JSONBase), Items: conversion.Each(in.Items, outTask)}
}

func inController(in ReplicationController) api.ReplicationController {
	state := in.DesiredState
	return api.ReplicationController{
		JSONBase: api.JSONBase(in.JSONBase),
		Labels:   in.Labels,
		DesiredState: api.ReplicationControllerState{
			Replicas:      state.Replicas,
			ReplicasInSet: state.ReplicasInSet,
			TaskTemplate: api.TaskTemplate{
				DesiredState: inState(state.TaskTemplate.DesiredState),
				Labels:       state.TaskTemplate.Labels,
			},
		},
	}
}

func outController(in api.ReplicationController) ReplicationController {
	state := in.DesiredState
	return ReplicationController{
		JSONBase: JSONBase(in.JSONBase),
		Labels:   in.Labels,
		DesiredState: ReplicationControllerState{
			Replicas:      state.Replicas,
			ReplicasInSet: state.ReplicasInSet,
			TaskTemplate: TaskTemplate{
				DesiredState: outState(state.TaskTemplate.DesiredState),
				Labels:       state.TaskTemplate.Labels,
			},
		},
	}
}

func inControllerList(in ReplicationControllerList) api.ReplicationControllerList {
	return api.ReplicationControllerList{JSONBase: api.JSONBase(in.JSONBase), Items: conversion.Each(in.Items, inController)}
}

func outControllerList(in api.ReplicationControllerList) ReplicationControllerList {
	return ReplicationControllerList{JSONBase: JSONBase(in.JSONBase), Items: conversion.Each(in.Items, outController)}
}

func inService(in Service) api.Service {
	return api.Service{JSONBase: api.JSONBase(in.JSONBase), Port: in.Port, Labels: in.Labels}
}

func outService(in api.Service) Service {
	return Service{JSONBase: JSONBase(in.JSONBase), Port: in.Port, Labels: in.Labels}
}

func inServiceList(in ServiceList) api.ServiceList {
	return api.ServiceList{Items: conversion.Each(in.Items, inService)}
}

func outServiceList(in api.ServiceList) ServiceList {
	return ServiceList{Items: conversion.Each(in.Items, outService)}
}

func inEndpoints(in Endpoints) api.Endpoints {
	return api.Endpoints{Name: in.Name, Endpoints: in.Endpoints}
}

func outEndpoints(in api.Endpoints) Endpoints {
	return Endpoints{Name: in.Name, Endpoints: in.Endpoints}
}

func inState(in TaskState) api.TaskState {
	return api.TaskState{Manifest: inManifest(in.Manifest), Status: in.Status, Host: in.Host, HostIP: in.HostIP, Info: in.Info}
}

func outState(in api.TaskState) TaskState {
	return TaskState{Manifest: outManifest(in.Manifest), Status: in.Status, Host: in.Host, HostIP: in.HostIP, Info: in.Info}
}

func inManifest(in ContainerManifest) api.ContainerManifest {
	return api.ContainerManifest{
		Version:    in.Version,
		Volumes:    conversion.Each(in.Volumes, func(v Volume) api.Volume { return api.Volume(v) }),
		Containers: conversion.Each(in.Containers, inContainer),
		Id:         in.Id,
	}
}

func outManifest(in api.ContainerManifest) ContainerManifest {
	return ContainerManifest{
		Version:    in.Version,
		Volumes:    conversion.Each(in.Volumes, func(v api.Volume) Volume { return Volume(v) }),
		Containers: conversion.Each(in.Containers, outContainer),
		Id:         in.Id,
	}
}

func inContainer(in Container) api.Container {
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

func outContainer(in api.Container) Container {
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
