package main

import (
	"path/filepath"
	"strings"

	"kube2014/pkg/options"
	"kube2014/pkg/server"
)

// command is what the program is under one of its names.
type command struct {
	name    string
	parse   func(args []string) (*options.ServerRunOptions, error)
	usage   func() string
	version string // what -version prints
}

var (
	apiserverCommand     = command{"apiserver", options.Parse, func() string { return options.Usage }, "kube2014 apiserver " + version}
	kubeAPIServerCommand = command{"kube-apiserver", options.ParseKubeAPIServer, options.KubeAPIServerUsage,
		"Kubernetes " + server.VersionInfo(version).GitVersion}
)

// commandOf returns what the program is under the name of a file. Each other name is as good as apiserver.
func commandOf(file string) command {
	if strings.TrimSuffix(filepath.Base(file), ".exe") == kubeAPIServerCommand.name {
		return kubeAPIServerCommand
	}
	return apiserverCommand
}
