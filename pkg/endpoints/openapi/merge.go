package openapi

import (
	"log"
	"sync"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube2014/pkg/endpoints/discovery"
)

// merge returns the document of this server with the versions of others: the paths of each, and the definitions that they use. What cannot be
// read or merged is left out, and logged.
func merge(ours documentV2, remotes []Remote) *spec.Swagger {
	merged := &spec.Swagger{}
	if err := merged.UnmarshalJSON(encode(ours)); err != nil {
		panic(err) // not with this document
	}
	theirs, reading := make([]*spec.Swagger, len(remotes)), sync.WaitGroup{}
	for i, remote := range remotes {
		reading.Go(func() {
			var err error
			if theirs[i], err = remote.V2(); err != nil {
				log.Printf("%s is missing in the OpenAPI document: %v", remote.GroupVersion, err)
			}
		})
	}
	reading.Wait()
	for i, remote := range remotes {
		if theirs[i] == nil {
			continue
		}
		of := aggregator.FilterSpecByPathsWithoutSideEffects(theirs[i], []string{discovery.Version{GroupVersion: remote.GroupVersion}.Path() + "/"})
		if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(merged, of); err != nil {
			log.Printf("%s is missing in the OpenAPI document: %v", remote.GroupVersion, err)
		}
	}
	return merged
}
