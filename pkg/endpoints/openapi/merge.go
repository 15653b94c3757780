package openapi

import (
	"fmt"
	"log"
	"sync"
	"time"

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
	withExtensions(merged)
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
		if err := add(merged, theirs[i]); err != nil {
			log.Printf("%s is missing in the OpenAPI document: %s", remote.GroupVersion, api.Line(err.Error()))
		}
	}
	return merged
}

// add adds the document of another server: its paths come last, and not at all if there is an error.
func add(to, document *spec.Swagger) (err error) {
	defer recovered(&err)
	return aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(to, document)
}

// recovered turns a panic about a document into an error.
func recovered(err *error) {
	if reason := recover(); reason != nil {
		*err = fmt.Errorf("the document cannot be used: %v", reason)
	}
}

// withExtensions lets each definition have extensions, to which the library adds the kinds of an equal definition of another server.
func withExtensions(document *spec.Swagger) {
	for name, definition := range document.Definitions {
		if definition.Extensions == nil {
			definition.Extensions = spec.Extensions{}
			document.Definitions[name] = definition
		}
	}
}

// eachMinute returns what is made at the first call, and anew when that was more than a minute ago.
func eachMinute(make func() *described) func() *described {
	var (
		mu   sync.Mutex // guards what follows
		now  *described
		made time.Time
	)
	return func() *described {
		mu.Lock()
		defer mu.Unlock()
		if now == nil || time.Since(made) > time.Minute {
			now, made = make(), time.Now()
		}
		return now
	}
}

// document returns what the other server says of the version, and an error if that could not be written in protobuf too.
func (r Remote) document() (_ *spec.Swagger, err error) {
	defer recovered(&err)
	all, err := r.V2()
	if err != nil {
		return nil, err
	}
	of := aggregator.FilterSpecByPathsWithoutSideEffects(all, []string{discovery.Version{GroupVersion: r.GroupVersion}.Path() + "/"})
	text, err := of.MarshalJSON()
	if err == nil {
		_, err = inProtobufV2(text)
	}
	if err != nil {
		return nil, err
	}
	withExtensions(of)
	return of, nil
}
