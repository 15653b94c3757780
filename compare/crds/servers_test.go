package crds

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kube2014/compare/serverstest"
)

const (
	variable = "KUBE2014_CRDS"    // make crds sets it
	hangs    = 5 * time.Minute    // how long nothing happens until it is taken for an error
	pause    = time.Millisecond   // between two tries
	onJSON   = "application/json" // a content type
	onYAML   = "application/yaml" // another
	asTable  = "application/json;as=Table;v=v1;g=meta.k8s.io"
	atCRDs   = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// server is one of serverstest that knows kinds.
type server struct{ *serverstest.Server }

func ourProgram(t *testing.T) string { return serverstest.OurProgram(t) }

func startEtcd(t *testing.T) string { return serverstest.StartEtcd(t) }

func inMemory(t *testing.T, program string) *server {
	return &server{serverstest.InMemory(t, program, "-profiling")}
}

func onEtcd(t *testing.T, program, etcd string) *server {
	return &server{serverstest.OnEtcd(t, program, etcd, "-profiling")}
}

func todays(t *testing.T, etcd string) *server { return &server{serverstest.Todays(t, etcd)} }

type (
	request = serverstest.Request
	answer  = serverstest.Answer
)

func onlyIfAsked(t *testing.T) {
	if os.Getenv(variable) == "" {
		t.Skip("make crds runs it")
	}
}

// install creates a definition, and returns when its kind is served.
func (s *server) install(t *testing.T, definition []byte) kind {
	created := s.Do(t, request{Method: http.MethodPost, Path: atCRDs, ContentType: onYAML, Body: definition})
	require.Equal(t, http.StatusCreated, created.Status, "%s: %s", s.Name, created.Body)
	k := kindOf(t, definition)
	s.untilServed(t, k)
	return k
}

func (s *server) untilServed(t *testing.T, k kind) {
	serverstest.Eventually(t, s.Name+" serves "+k.name, func() bool {
		return isEstablished(s.Do(t, request{Method: http.MethodGet, Path: atCRDs + "/" + k.name}).Body) &&
			s.Do(t, request{Method: http.MethodGet, Path: k.versions[0].collection}).Status == http.StatusOK
	})
}

func isEstablished(crd []byte) bool {
	var read struct {
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	if json.Unmarshal(crd, &read) != nil {
		return false
	}
	for _, condition := range read.Status.Conditions {
		if condition.Type == "Established" {
			return condition.Status == "True"
		}
	}
	return false
}
