package server

import (
	"encoding/json"
	"net/http"
	"runtime"

	"k8s.io/apimachinery/pkg/version"
)

// VersionInfo returns which version of Kubernetes the server speaks, so that clients can
// compute with it, and which of our own it is.
func VersionInfo(own string) version.Info {
	return version.Info{
		Major: "1", Minor: "36", EmulationMajor: "1", EmulationMinor: "36", MinCompatibilityMajor: "1", MinCompatibilityMinor: "35",
		GitVersion: "v1.36.0+kube2014", GitCommit: own, GitTreeState: "", BuildDate: "1970-01-01T00:00:00Z",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// Version answers with VersionInfo.
func Version(own string) http.Handler {
	text, err := json.MarshalIndent(VersionInfo(own), "", "  ")
	if err != nil {
		panic(err) // it is made of strings
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // if that fails the client is gone
	})
}
