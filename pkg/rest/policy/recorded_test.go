package policy_test

import (
	"testing"
	"time"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/policy"
	"kube2014/pkg/storage/memory"
)

func TestObjectsAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	b := rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }}
	rows, _ := policy.Resources(b)
	OpenWith(t, rows...).Replay(t, "testdata/recorded.jsonl")
}
