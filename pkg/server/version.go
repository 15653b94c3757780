package server

import (
	"encoding/json"
	"net/http"
	"runtime"

	"k8s.io/apimachinery/pkg/version"
)

// VersionInfo returns the version of Kubernetes that the server is compatible with, for clients, and
// our own version as the commit.
func VersionInfo(own string) version.Info {
	return version.Info{
		Major: "1", Minor: "36", EmulationMajor: "1", EmulationMinor: "36", MinCompatibilityMajor: "1", MinCompatibilityMinor: "35",
		GitVersion: "v1.36.0+kube2014", GitCommit: own, GitTreeState: "", BuildDate: "1970-01-01T00:00:00Z",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// Version serves VersionInfo.
func Version(own string) http.Handler {
	text, err := json.MarshalIndent(VersionInfo(own), "", "  ")
	if err != nil {
		panic(err) // it has only strings
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // it fails only if the client is gone
	})
}
