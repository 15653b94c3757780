package registry

import (
	"testing"

	"kube2014/pkg/api"
)

func TestAServiceThatIsGoneGetsNoEndpoints(t *testing.T) {
	t.Parallel()
	requireKind(t, api.NotFound, MakeMemoryRegistry().UpdateEndpoints(api.Endpoints{Name: "nope"}))
}
