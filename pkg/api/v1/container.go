package v1

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1/defaults"
)

func inContainer(c corev1.Container) api.Container {
	return api.Container{
		Name:         c.Name,
		Image:        c.Image,
		Command:      inCommand(c.Command),
		WorkingDir:   c.WorkingDir,
		Ports:        conversion.Each(c.Ports, inPort),
		Env:          conversion.Each(c.Env, inEnvVar),
		Memory:       inLimit(c.Resources.Limits, memory),
		CPU:          inLimit(c.Resources.Limits, cpu),
		VolumeMounts: conversion.Each(c.VolumeMounts, inVolumeMount),
	}
}

// restOfContainer returns the rest of a container, which keeps the name as its key.
func restOfContainer(c corev1.Container) corev1.Container {
	c.Image, c.WorkingDir = "", ""
	c.Ports = refinements(c.Ports, inPort, outPort)
	c.Env = refinements(c.Env, inEnvVar, outEnvVar)
	c.VolumeMounts = refinements(c.VolumeMounts, inVolumeMount, outVolumeMount)
	if slices.Equal(outCommand(inCommand(c.Command)), c.Command) {
		c.Command = nil
	}
	defaults.StripContainer(&c)
	return c
}

// outContainer converts a container, and adds the rest of it.
func outContainer(in api.Container, rest corev1.Container) corev1.Container {
	out := rest
	out.Name, out.Image, out.WorkingDir = in.Name, in.Image, in.WorkingDir
	if inCommand(rest.Command) != in.Command {
		out.Command = outCommand(in.Command)
	}
	out.Ports = refine(in.Ports, rest.Ports, inPort, outPort)
	out.Env = refine(in.Env, rest.Env, inEnvVar, outEnvVar)
	out.VolumeMounts = withAccessMount(refine(in.VolumeMounts, rest.VolumeMounts, inVolumeMount, outVolumeMount), in.VolumeMounts, rest.VolumeMounts)
	outLimit(&out.Resources, memory, in.Memory)
	outLimit(&out.Resources, cpu, in.CPU)
	return out
}

// June 2014 has one string, which its kubelet splits at spaces.
func inCommand(command []string) string { return strings.Join(command, " ") }

func outCommand(command string) []string {
	if command == "" {
		return nil
	}
	return strings.Split(command, " ")
}

func inPort(p corev1.ContainerPort) api.Port {
	return api.Port{Name: p.Name, HostPort: int(p.HostPort), ContainerPort: int(p.ContainerPort), Protocol: string(p.Protocol)}
}

func outPort(p api.Port) corev1.ContainerPort {
	return corev1.ContainerPort{Name: p.Name, HostPort: api.Int32(p.HostPort), ContainerPort: api.Int32(p.ContainerPort), Protocol: corev1.Protocol(p.Protocol)}
}

func inEnvVar(v corev1.EnvVar) api.EnvVar { return api.EnvVar{Name: v.Name, Value: v.Value} }

func outEnvVar(v api.EnvVar) corev1.EnvVar { return corev1.EnvVar{Name: v.Name, Value: v.Value} }

func inVolumeMount(m corev1.VolumeMount) api.VolumeMount {
	return api.VolumeMount{Name: m.Name, ReadOnly: m.ReadOnly, MountPath: m.MountPath}
}

func outVolumeMount(m api.VolumeMount) corev1.VolumeMount {
	return corev1.VolumeMount{Name: m.Name, ReadOnly: m.ReadOnly, MountPath: m.MountPath}
}

func inVolume(v corev1.Volume) api.Volume { return api.Volume{Name: v.Name} }

// A volume of June 2014 is a directory that the containers share.
func outVolume(v api.Volume) corev1.Volume {
	return corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}
