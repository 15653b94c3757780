package openapi

import (
	"fmt"
	"log"
	"sync"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube2014/pkg/api"
	"kube2014/pkg/endpoints/discovery"
)

// merge returns the document of this server with the versions of others: the paths of each, and the definitions. What cannot be read or merged
// is left out, and logged.
func merge(ours documentV2, remotes []Remote) *spec.Swagger {
	merged := &spec.Swagger{}
	if err := merged.UnmarshalJSON(encode(ours)); err != nil {
		panic(err) // not with this document
	}
	theirs, reading := make([]*spec.Swagger, len(remotes)), sync.WaitGroup{}
	for i, remote := range remotes {
		reading.Go(func() {
			var err error
			if theirs[i], err = remote.document(); err != nil {
				log.Printf("%s is missing in the OpenAPI document: %s", remote.GroupVersion, api.Line(err.Error()))
			}
		})
	}
	reading.Wait()
	for i, remote := range remotes {
		if theirs[i] == nil {
			continue
		}
		if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(merged, theirs[i]); err != nil {
			log.Printf("%s is missing in the OpenAPI document: %s", remote.GroupVersion, api.Line(err.Error()))
		}
	}
	return merged
}

// document returns what the other server says of the version: nil, with an error, if that could not be written in protobuf too.
func (r Remote) document() (of *spec.Swagger, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			of, err = nil, fmt.Errorf("the document cannot be read: %v", reason)
		}
	}()
	all, err := r.V2()
	if err != nil {
		return nil, err
	}
	of = aggregator.FilterSpecByPathsWithoutSideEffects(all, []string{discovery.Version{GroupVersion: r.GroupVersion}.Path() + "/"})
	text, err := of.MarshalJSON()
	if err == nil {
		_, err = inProtobufV2(text)
	}
	if err != nil {
		return nil, err
	}
	return of, nil
}
