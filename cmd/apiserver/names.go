package main

import (
	"kube2014/cmd/apiserver/help"
	"kube2014/pkg/options"
	"kube2014/pkg/server"
)

// command is what the program is under one of its names.
type command struct {
	name    string
	parse   func(args []string) (*options.ServerRunOptions, error)
	usage   func() string
	version string // what -version prints
	share   int    // of the processors: one in so many
}

var (
	apiserverCommand = command{"apiserver", options.Parse, func() string { return options.Usage }, "kube2014 apiserver " + version, 1}
	// The other half is for the test that asks it.
	kubeAPIServerCommand = command{help.KubeAPIServer, options.ParseKubeAPIServer, options.KubeAPIServerUsage,
		"Kubernetes " + server.VersionInfo(version).GitVersion, 2}
)

// commandOf returns what the program is under the name of a file. Each other name is as good as apiserver.
func commandOf(file string) command {
	if help.Name(file) == kubeAPIServerCommand.name {
		return kubeAPIServerCommand
	}
	return apiserverCommand
}

// processors returns how many of so many it uses.
func (c command) processors(n int) int { return max(1, n/c.share) }
