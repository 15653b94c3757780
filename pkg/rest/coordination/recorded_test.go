package coordination_test

import (
	"testing"
	"time"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/coordination"
	"kube2014/pkg/storage/memory"
)

func TestObjectsAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	b := rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }}
	OpenWith(t, coordination.Resources(b)...).Replay(t, "testdata/recorded.jsonl")
}

// K3. Today's server asks for the version that it replaces.
func TestALeaseIsReplacedWithoutAVersion(t *testing.T) {
	t.Parallel()
	b := rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }}
	door := OpenWith(t, coordination.Resources(b)...)
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	door.Must("POST", leases, `{"metadata": {"name": "leader"}}`)
	door.Must("PUT", leases+"/leader", `{"metadata": {"name": "leader"}, "spec": {"holderIdentity": "me"}}`)
}
