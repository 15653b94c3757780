package aggregator

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/util/services"
)

// attempts is how many addresses of a service are tried at once at most: one of several may be away.
const attempts = 5

// condition returns the condition of an APIService, in the words of today's server.
func condition(status apiregistrationv1.ConditionStatus, reason string, err error) apiregistrationv1.APIServiceCondition {
	message := "all checks passed"
	if err != nil {
		message = api.Line(err.Error()) // it may repeat what another server says
	}
	return apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available, Status: status, LastTransitionTime: metav1.Now(), Reason: reason, Message: message}
}

// checkServer looks at the server of an APIService, and returns what its condition must be: what is wrong with its service, or else with its server,
// which must list the resources of the version (K104).
func (s *Server) checkServer(ctx context.Context, v *remoteAPI) (next found, status apiregistrationv1.ConditionStatus, reason string, err error) {
	if status, reason, err = s.checkService(ctx, v.spec.Service); err != nil {
		return v.stale(), status, reason, err
	}
	if next, err = v.askServer(ctx); err == nil {
		status, reason = apiregistrationv1.ConditionTrue, "Passed"
	} else {
		status, reason = apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck"
	}
	switch next.failing = v.found.failing; {
	case next.isFresh:
		next.failing = time.Time{}
	case next.failing.IsZero():
		next.failing = time.Now()
	}
	return next, status, reason, err
}

// checkService returns an error if a service cannot have a server. The status is unknown if it cannot be read.
func (s *Server) checkService(ctx context.Context, at *apiregistrationv1.ServiceReference) (status apiregistrationv1.ConditionStatus, reason string, err error) {
	service, err := s.Reader.Service(ctx, at.Namespace, at.Name)
	switch {
	case apierrors.IsNotFound(err):
		return apiregistrationv1.ConditionFalse, "ServiceNotFound", fmt.Errorf("service/%s in %q is not present", at.Name, at.Namespace)
	case err != nil:
		return apiregistrationv1.ConditionUnknown, "", err
	case service.Spec.Type == corev1.ServiceTypeClusterIP, service.Spec.Type == "":
		return s.checkEndpoints(ctx, at, service)
	}
	return "", "", nil
}

// checkEndpoints returns an error if a service has no ready address of the port.
func (s *Server) checkEndpoints(ctx context.Context, at *apiregistrationv1.ServiceReference, service *corev1.Service) (status apiregistrationv1.ConditionStatus, reason string, err error) {
	port := services.PortOf(service, *at.Port)
	if port == nil {
		return apiregistrationv1.ConditionFalse, "ServicePortError", fmt.Errorf("service/%s in %q is not listening on port %d", at.Name, at.Namespace, *at.Port)
	}
	behind, err := services.SlicesOf(ctx, s.Reader, at.Namespace, at.Name)
	switch {
	case err != nil:
		return apiregistrationv1.ConditionUnknown, "", err
	case len(behind) == 0:
		return apiregistrationv1.ConditionFalse, "EndpointsNotFound", fmt.Errorf("cannot find endpointslices for service/%s in %q", at.Name, at.Namespace)
	case len(services.ReadyAddresses(behind, port.Name)) == 0:
		return apiregistrationv1.ConditionFalse, "MissingEndpoints", fmt.Errorf("endpointslices for service/%s in %q have no addresses with port name %q", at.Name, at.Namespace, port.Name)
	}
	return "", "", nil
}

// askServer looks up where the server is, and asks it what it serves. It asks several addresses for the list of the version at once, and the first that
// answers for the rest. It returns the last error if none does.
func (v *remoteAPI) askServer(ctx context.Context) (found, error) {
	if v.broken != nil {
		return v.stale(), v.broken
	}
	all, err := v.remote.addresses(ctx)
	if err != nil {
		return v.stale(), err
	}
	type answer struct {
		from string
		list *metav1.APIResourceList
		err  error
	}
	addresses := slices.Clone(all)
	rand.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] })
	addresses = addresses[:min(len(addresses), attempts)]
	answers := make(chan answer, len(addresses))
	for _, address := range addresses {
		go func() { // not given up when another one is answered: the server would log an error
			ctx, cancel := context.WithTimeout(ctx, v.remote.timeout)
			defer cancel()
			list, err := v.listedAt(ctx, address)
			answers <- answer{address, list, err}
		}()
	}
	for range addresses {
		answer := <-answers
		if err = answer.err; err == nil {
			next := v.discover(ctx, answer.from, answer.list)
			next.addresses = all
			return next, nil
		}
	}
	return v.stale(), err
}

func (v *remoteAPI) listedAt(ctx context.Context, address string) (*metav1.APIResourceList, error) {
	answer, at, err := v.remote.get(ctx, address, v.path(), http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("failing or missing response from %v: bad status from %v: %d", at, at, answer.StatusCode)
	}
	list := &metav1.APIResourceList{}
	isNameless := func(r metav1.APIResource) bool { return r.Name == "" }
	switch err := decode(answer.Body, maxList, list); {
	case err != nil:
		return nil, fmt.Errorf("failing or missing response from %v: %w", at, err)
	case list.GroupVersion != v.groupVersion().String():
		return nil, fmt.Errorf("failing or missing response from %v: it lists the resources of %q", at, list.GroupVersion)
	case slices.ContainsFunc(list.APIResources, isNameless):
		return nil, fmt.Errorf("failing or missing response from %v: it lists a resource without a name", at)
	}
	return list, nil
}

// writeCondition writes the condition of an APIService, unless it is there already.
func (s *Server) writeCondition(ctx context.Context, v *remoteAPI, condition apiregistrationv1.APIServiceCondition) error {
	var isNew bool
	_, _, err := s.Services.Status.Update(ctx, rest.Key{Name: v.name()}, func(current rest.Object) (rest.Object, error) {
		service := current.(*apiregistrationv1.APIService)
		now := helper.GetAPIServiceConditionByType(service, condition.Type)
		isSame := now != nil && now.Status == condition.Status && now.Reason == condition.Reason && now.Message == condition.Message
		if isNew = !isSame && service.UID == v.uid && service.Spec.Service != nil; isNew {
			helper.SetAPIServiceCondition(service, condition)
		}
		return service, nil
	}, rest.AsServer())
	if err == nil && isNew {
		log.Printf("the APIService %s: available is %s, %s: %s", v.name(), condition.Status, condition.Reason, condition.Message)
	}
	return utilerrors.FilterOut(err, apierrors.IsNotFound)
}
