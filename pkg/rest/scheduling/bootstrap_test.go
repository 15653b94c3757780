package scheduling_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	schedulingv1 "k8s.io/api/scheduling/v1"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/scheduling"
	"kube2014/pkg/storage/memory"
)

func TestTheClassesOfTheSystemAreMadeOnceAndComeBack(t *testing.T) {
	t.Parallel()
	b := rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }}
	d := OpenWith(t, scheduling.Resources(b)...)
	const path = "/apis/scheduling.k8s.io/v1/priorityclasses"
	for range 2 {
		var group sync.WaitGroup
		for range 4 { // servers
			group.Go(func() { assert.NoError(t, scheduling.Bootstrap(t.Context(), b)) })
		}
		group.Wait()
		names, _ := d.Do("GET", path, "").Names()
		assert.Equal(t, []string{"system-cluster-critical", "system-node-critical"}, names)
		var class schedulingv1.PriorityClass
		d.Must("GET", path+"/system-node-critical", "").Into(&class)
		assert.EqualValues(t, 2000001000, class.Value)
		assert.EqualValues(t, 1, class.Generation)
		d.Must("DELETE", path, "") // only a collection takes them along
	}
}
