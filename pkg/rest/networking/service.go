package networking

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
)

var (
	errAllocated = errors.New("provided IP is already allocated")
	errPortTaken = errors.New("provided port is already allocated")
	errFull      = errors.New("range is full")
)

// complete sets the families, the cluster IP and the node ports that a service lacks, and checks those that it wants and
// did not have before. Before is nil for a new service.
func (a *Allocator) complete(service, before *corev1.Service) error {
	had := a.heldBy(before)
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	if err := a.setFamilies(service); err != nil {
		return err
	}
	if err := a.setAddress(service, had); err != nil {
		return err
	}
	return a.setPorts(service, had)
}

// setFamilies sets the families of a service. There is only one: that of the range.
func (a *Allocator) setFamilies(service *corev1.Service) error {
	spec, at, own := &service.Spec, field.NewPath("spec"), a.ranges.Family()
	ofNobody := spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0 // such a service may have any families
	if spec.IPFamilyPolicy == nil {
		policy := corev1.IPFamilyPolicySingleStack
		if ofNobody {
			policy = corev1.IPFamilyPolicyRequireDualStack
		}
		spec.IPFamilyPolicy = &policy
	}
	both := []corev1.IPFamily{own, corev1.IPv6Protocol}
	if own == corev1.IPv6Protocol {
		both[1] = corev1.IPv4Protocol
	}
	isSingle := *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
	var errs field.ErrorList
	switch {
	case isSingle && len(spec.ClusterIPs) == 2:
		errs = append(errs, field.Invalid(at.Child("ipFamilyPolicy"), spec.IPFamilyPolicy, "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified"))
	case isSingle && len(spec.IPFamilies) == 2:
		errs = append(errs, field.Invalid(at.Child("ipFamilyPolicy"), spec.IPFamilyPolicy, "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"))
	case ofNobody:
		if len(spec.IPFamilies) == 0 {
			spec.IPFamilies = both[:1]
		}
		if len(spec.IPFamilies) == 1 && !isSingle {
			spec.IPFamilies = append(slices.Clone(spec.IPFamilies), slices.DeleteFunc(both, func(f corev1.IPFamily) bool { return f == spec.IPFamilies[0] })...)
		}
	default:
		if *spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack {
			errs = append(errs, field.Invalid(at.Child("ipFamilyPolicy"), spec.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
		}
		for i, family := range spec.IPFamilies {
			if family != own {
				errs = append(errs, field.Invalid(at.Child("ipFamilies").Index(i), family, "not configured on this cluster"))
			}
		}
		if len(spec.IPFamilies) == 0 {
			spec.IPFamilies = both[:1]
		}
	}
	return invalid(service, errs...)
}

// setAddress sets the cluster IP of a service, unless it is headless.
func (a *Allocator) setAddress(service *corev1.Service, had []api.Key) error {
	spec := &service.Spec
	switch {
	case spec.ClusterIP == corev1.ClusterIPNone:
		return nil
	case spec.ClusterIP == "":
		free, err := a.free(addressKind, a.ranges.addresses())
		if err != nil {
			return internalError(err, "failed to allocate a serviceIP for Service %q: %w", service.Name, err)
		}
		spec.ClusterIP, spec.ClusterIPs = free, []string{free}
		return nil
	}
	for _, key := range a.heldBy(service) {
		if key.Kind != addressKind || slices.Contains(had, key) {
			continue
		}
		err := a.ranges.checkAddress(key.ID)
		if err == nil {
			err = a.isFree(key, errAllocated)
		}
		if err != nil {
			return refusal(service, err, field.NewPath("spec", "clusterIPs"), spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %s: %v", key.ID, err))
		}
	}
	return nil
}

// setPorts sets the node ports of a service that is reached from outside.
func (a *Allocator) setPorts(service *corev1.Service, had []api.Key) error {
	spec, at := &service.Spec, field.NewPath("spec", "ports")
	isBalanced := spec.Type == corev1.ServiceTypeLoadBalancer
	if spec.Type != corev1.ServiceTypeNodePort && !isBalanced {
		return nil
	}
	want := spec.Type == corev1.ServiceTypeNodePort || *spec.AllocateLoadBalancerNodePorts
	byPort := map[int32]int32{} // ports of one number and several protocols share a node port
	for _, port := range spec.Ports {
		if port.NodePort != 0 {
			byPort[port.Port] = port.NodePort
		}
	}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		switch {
		case port.NodePort != 0:
			if err := a.checkPort(service, had, at.Index(i).Child("nodePort"), port.NodePort); err != nil {
				return err
			}
		case want && byPort[port.Port] != 0:
			port.NodePort = byPort[port.Port]
		case want:
			number, err := a.freePort(service)
			if err != nil {
				return internalError(err, "failed to allocate a nodePort: %w", err)
			}
			port.NodePort, byPort[port.Port] = number, number
		}
	}
	if !isBalanced || spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return nil
	}
	if spec.HealthCheckNodePort != 0 {
		return a.checkPort(service, had, field.NewPath("spec", "healthCheckNodePort"), spec.HealthCheckNodePort)
	}
	number, err := a.freePort(service)
	if err != nil {
		return internalError(err, "failed to allocate a HealthCheck NodePort: %w", err)
	}
	spec.HealthCheckNodePort = number
	return nil
}

// checkPort returns an error if a service cannot get a port that it wants.
func (a *Allocator) checkPort(service *corev1.Service, had []api.Key, at *field.Path, port int32) error {
	key := portKey(port)
	if slices.Contains(had, key) {
		return nil
	}
	err := a.ranges.checkPort(port)
	if err == nil {
		err = a.isFree(key, errPortTaken)
	}
	if err != nil {
		return refusal(service, err, at, port, err.Error())
	}
	return nil
}

// freePort returns a port that neither another service nor this one has.
func (a *Allocator) freePort(service *corev1.Service) (int32, error) {
	own := a.heldBy(service)
	text, err := a.free(portKind, func(send func(string) bool) {
		for text := range a.ranges.ports() {
			if !slices.Contains(own, api.Key{Kind: portKind, ID: text}) && !send(text) {
				return
			}
		}
	})
	number, _ := strconv.Atoi(text)
	return int32(number), err
}

// free returns the first candidate that nobody holds. The cache of the store is enough: the commit fails if it is stale.
func (a *Allocator) free(kind api.Kind, candidates iter.Seq[string]) (string, error) {
	for id := range candidates {
		switch _, err := a.Cached().Get(api.Key{Kind: kind, ID: id}); api.KindOf(err) {
		case api.NotFound:
			return id, nil
		case "":
		default:
			return "", err
		}
	}
	return "", errFull
}

// isFree returns taken if a key is held.
func (a *Allocator) isFree(key api.Key, taken error) error {
	switch _, err := a.Get(key); api.KindOf(err) {
	case api.NotFound:
		return nil
	case "":
		return taken
	default:
		return err
	}
}

// heldBy returns the keys of what a service, nil for none, holds.
func (a *Allocator) heldBy(service *corev1.Service) (keys []api.Key) {
	if service == nil || service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	add := func(key api.Key) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, text := range service.Spec.ClusterIPs {
		if address, err := netip.ParseAddr(text); err == nil {
			add(api.Key{Kind: addressKind, ID: address.String()})
		}
	}
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			add(portKey(port.NodePort))
		}
	}
	if service.Spec.HealthCheckNodePort != 0 {
		add(portKey(service.Spec.HealthCheckNodePort))
	}
	return keys
}

func portKey(port int32) api.Key { return api.Key{Kind: portKind, ID: strconv.Itoa(int(port))} }

// isOfStore reports whether the store is the cause of an error.
func isOfStore(err error) bool {
	var typed *api.Error
	return errors.As(err, &typed)
}

// internalError returns an internal error, unless the store is the cause of err.
func internalError(err error, format string, args ...any) error {
	if isOfStore(err) {
		return err
	}
	return apierrors.NewInternalError(fmt.Errorf(format, args...))
}

// refusal returns the error of a field, unless the store is the cause of err.
func refusal(service *corev1.Service, err error, at *field.Path, value any, why string) error {
	if isOfStore(err) {
		return err
	}
	return invalid(service, field.Invalid(at, value, why))
}

// invalid returns the status of an invalid service, nil without errors.
func invalid(service *corev1.Service, errs ...*field.Error) error {
	if len(errs) == 0 {
		return nil
	}
	return rest.Invalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), service.Name, errs)
}
