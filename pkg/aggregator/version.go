package aggregator

import (
	"context"
	"reflect"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Version is a version of a group that another server serves. It does not change.
type Version struct {
	uid         types.UID
	spec        apiregistrationv1.APIServiceSpec
	stored      *apiregistrationv1.APIServiceCondition // nil for none
	isAvailable bool                                   // as the condition says, or will say soon
	remote      *remote
	broken      error // why there is no remote
	found       found
}

// found is what a server says that it serves in a version.
type found struct {
	resources []apidiscovery.APIResourceDiscovery
	isFresh   bool   // the server has said so when it was last asked
	tag       string // of its document, "" for none
	openAPI   string // the URL of its description in OpenAPI v3, "" for none
}

func (v *Version) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v.spec.Group, Version: v.spec.Version}
}

func (v *Version) name() string { return v.spec.Version + "." + v.spec.Group }

// Path returns the path of the version.
func (v *Version) Path() string { return pathOf(v.spec) }

// resync is the time between two looks at a server.
const resync = 30 * time.Second

// sync looks at the server of an APIService: whether it is there, and what it serves. It returns an error if it is not there, to look
// again soon.
func (s *Server) sync(ctx context.Context, name string) error {
	v := s.Snapshot().byName[name]
	if v == nil {
		return nil
	}
	s.queue.AddAfter(name, resync)
	list, status, reason, err := s.check(ctx, v)
	found := v.found
	found.isFresh = false
	if err == nil {
		found = v.discover(ctx, list)
	}
	s.change(func(byName map[string]*Version) {
		now := byName[name]
		if now == nil || now.remote != v.remote {
			return
		}
		next := *now
		next.found, next.isAvailable = found, status == apiregistrationv1.ConditionTrue // at once: who reads the condition can use it
		if !reflect.DeepEqual(*now, next) { // what is derived from a snapshot stays
			byName[name] = &next
		}
	})
	if reported := s.report(ctx, v, condition(status, reason, err)); reported != nil {
		return reported
	}
	if reason == failedDiscovery {
		return err
	}
	return nil
}
