package registry

import (
	"time"

	"kube2014/pkg/api"
)

// maxRequestTime is the age after which a request starts no further step on
// etcd; a create's age counts from its claim. A call takes about as long again
// at most, so when etcd hangs a request takes 5 seconds. No request continues
// what has been half done for longer.
const maxRequestTime = 2500 * time.Millisecond

// requestBudget is the time that a request has.
type requestBudget struct {
	began time.Time
	now   func() time.Time
}

func (registry *EtcdRegistry) startBudget() requestBudget {
	return requestBudget{began: registry.now(), now: registry.now}
}

// left returns nil while there is time left, and an api.Unavailable error when
// there is none: etcd is slow.
func (b requestBudget) left(operation string) error {
	if b.now().Sub(b.began) > maxRequestTime {
		return &api.Error{Kind: api.Unavailable, Message: operation + ": the store is too slow; try again"}
	}
	return nil
}
