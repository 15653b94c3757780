package endpointslice

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxPerSlice is how many endpoints the controller puts into a slice. Another manager may have put in more: they stay.
const maxPerSlice = 100

// plan is what makes the slices of a service right, with as few writes as possible: an endpoint stays in its slice, and new
// ones fill up slices that are written anyway, or else the fullest that has room.
type plan struct {
	service *corev1.Service
	labels  map[string]string // of all slices
	// isTaken reports whether a slice has a name, of whomever.
	isTaken func(name string) bool

	create, update, remove []*discoveryv1.EndpointSlice

	// since is the earliest change of an endpoint that is written, zero if none is known.
	since time.Time
}

// draft is a slice that may be changed.
type draft struct {
	slice     *discoveryv1.EndpointSlice // as it is stored
	endpoints []discoveryv1.Endpoint
	changed   bool
}

// make plans all slices of a service; own are those that there are.
func (p *plan) make(wanted map[discoveryv1.AddressType]groups, own []*discoveryv1.EndpointSlice) {
	slices.SortFunc(own, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	ofType := map[discoveryv1.AddressType][]*discoveryv1.EndpointSlice{}
	for _, slice := range own {
		if wanted[slice.AddressType] == nil && len(slice.Endpoints) == 0 && p.isOfUnknownFamily() && isOwnedBy(slice, p.service) {
			continue // today's controller has one of each family then, and would make it again
		}
		if wanted[slice.AddressType] == nil || !isOwnedBy(slice, p.service) { // of an earlier service, or by hand
			p.remove = append(p.remove, slice)
			continue
		}
		ofType[slice.AddressType] = append(ofType[slice.AddressType], slice)
	}
	for _, addressType := range slices.Sorted(maps.Keys(wanted)) {
		p.makeType(addressType, wanted[addressType], ofType[addressType])
	}
	p.note(len(own) == 0)
}

// isOfUnknownFamily reports whether only the pods tell the IP families of the service.
func (p *plan) isOfUnknownFamily() bool {
	spec := &p.service.Spec
	return len(spec.IPFamilies) == 0 && (spec.ClusterIP == "" || spec.ClusterIP == corev1.ClusterIPNone)
}

func isOwnedBy(slice *discoveryv1.EndpointSlice, service *corev1.Service) bool {
	return slices.ContainsFunc(slice.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == service.UID })
}

// makeType plans the slices of a type of address. There is always one, so that it is known that the service has no endpoints.
func (p *plan) makeType(addressType discoveryv1.AddressType, wanted groups, own []*discoveryv1.EndpointSlice) {
	byPorts := map[string][]*discoveryv1.EndpointSlice{}
	var empty []*discoveryv1.EndpointSlice // which may get any endpoints
	for _, slice := range own {
		key := portsText(slice.Ports)
		if wanted[key] == nil {
			empty = append(empty, slice)
			continue
		}
		byPorts[key] = append(byPorts[key], slice)
	}
	var more []*discoveryv1.EndpointSlice
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		left, emptied := p.fill(wanted[key], byPorts[key])
		empty = append(empty, emptied...)
		for chunk := range slices.Chunk(left, maxPerSlice) {
			more = append(more, &discoveryv1.EndpointSlice{AddressType: addressType, Ports: wanted[key].ports, Endpoints: chunk})
		}
	}
	if len(wanted) == 0 {
		more = append(more, &discoveryv1.EndpointSlice{AddressType: addressType})
	}
	for _, slice := range more {
		if len(empty) == 0 {
			p.create = append(p.create, p.named(slice))
			continue
		}
		reused := empty[0]
		empty = empty[1:]
		if len(slice.Endpoints)+len(reused.Endpoints)+len(reused.Ports) > 0 || !maps.Equal(reused.Labels, p.labels) {
			p.replace(reused, slice.Ports, slice.Endpoints)
		}
	}
	p.remove = append(p.remove, empty...)
}

// fill plans the slices that have the ports of a group. It returns the endpoints that need a slice of their own, and the
// slices that lose all.
func (p *plan) fill(g *group, own []*discoveryv1.EndpointSlice) (left []discoveryv1.Endpoint, empty []*discoveryv1.EndpointSlice) {
	var drafts []*draft
	for _, slice := range own {
		if d := p.keep(g, slice); len(d.endpoints) > 0 {
			drafts = append(drafts, d)
		} else {
			empty = append(empty, slice)
		}
	}
	for _, pod := range slices.Sorted(maps.Keys(g.endpoints)) {
		p.changed(g.endpoints[pod])
		left = append(left, g.endpoints[pod].Endpoint)
	}
	slices.SortStableFunc(drafts, func(a, b *draft) int { return cmp.Compare(len(b.endpoints), len(a.endpoints)) })
	for _, d := range drafts {
		if count := min(maxPerSlice-len(d.endpoints), len(left)); d.changed && count > 0 {
			d.endpoints, left = append(d.endpoints, left[:count]...), left[count:]
		}
	}
	if last := len(left) % maxPerSlice; last > 0 {
		at := slices.IndexFunc(drafts, func(d *draft) bool { return len(d.endpoints)+last <= maxPerSlice })
		if at >= 0 {
			d := drafts[at]
			d.endpoints, left, d.changed = append(d.endpoints, left[len(left)-last:]...), left[:len(left)-last], true
		}
	}
	for _, d := range drafts {
		if d.changed {
			p.replace(d.slice, d.slice.Ports, d.endpoints)
		}
	}
	return left, empty
}

// keep returns a slice with those of its endpoints that are still wanted, as they are now. They are removed from the group.
func (p *plan) keep(g *group, slice *discoveryv1.EndpointSlice) *draft {
	d := &draft{slice: slice, changed: !maps.Equal(slice.Labels, p.labels)}
	for i := range slice.Endpoints {
		before := &slice.Endpoints[i]
		pod := ""
		if before.TargetRef != nil {
			pod = before.TargetRef.Name
		}
		now, isWanted := g.endpoints[pod]
		if !isWanted {
			d.changed = true
			continue
		}
		delete(g.endpoints, pod)
		d.endpoints = append(d.endpoints, now.Endpoint)
		if !equality.Semantic.DeepEqual(*before, now.Endpoint) {
			d.changed = true
			p.changed(now)
		}
	}
	return d
}

func (p *plan) changed(of place) {
	if !of.changed.IsZero() && (p.since.IsZero() || of.changed.Before(p.since)) {
		p.since = of.changed
	}
}

// replace plans that a slice gets other ports and endpoints.
func (p *plan) replace(slice *discoveryv1.EndpointSlice, ports []discoveryv1.EndpointPort, endpoints []discoveryv1.Endpoint) {
	next := &discoveryv1.EndpointSlice{ObjectMeta: *slice.ObjectMeta.DeepCopy(), AddressType: slice.AddressType, Ports: ports, Endpoints: endpoints}
	next.Labels = p.labels
	p.update = append(p.update, next)
}

// named gives a new slice its metadata. The names are numbered, though it does not show, and the lowest free number is
// taken: a create that is sent again, because the answer was lost, finds its name taken. If a lower number became free
// meanwhile, there may be the same endpoints in two slices, until the copy has both; a proxy uses each once.
func (p *plan) named(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	prefix := p.service.Name + "-"
	slice.ObjectMeta = metav1.ObjectMeta{Namespace: p.service.Namespace, GenerateName: prefix, Labels: p.labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p.service, corev1.SchemeGroupVersion.WithKind("Service"))}}
	isPlanned := func(name string) bool {
		return slices.ContainsFunc(p.create, func(other *discoveryv1.EndpointSlice) bool { return other.Name == name })
	}
	for number := 1; ; number++ {
		hash := fnv.New32a()
		_, _ = fmt.Fprintf(hash, "%s %s %d", p.service.UID, slice.AddressType, number) // it never fails
		if slice.Name = fmt.Sprintf("%s%05x", prefix, hash.Sum32()&0xfffff); !p.isTaken(slice.Name) && !isPlanned(slice.Name) {
			return slice
		}
	}
}

// sliceLabels returns the labels of the slices of a service: its own, and what the controller tells.
func sliceLabels(service *corev1.Service) map[string]string {
	labels := validLabels(service.Labels)
	delete(labels, corev1.IsHeadlessService)
	if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
		labels[corev1.IsHeadlessService] = ""
	}
	labels[discoveryv1.LabelServiceName], labels[discoveryv1.LabelManagedBy] = service.Name, ControllerManager
	return labels
}

// note notes in what is written since when it is so, for those who measure how long a change takes. The first slices of a
// service are not older than that.
func (p *plan) note(isNew bool) {
	created := p.service.CreationTimestamp.Time
	if isNew && p.since.IsZero() || !p.since.IsZero() && p.since.Before(created) {
		p.since = created
	}
	for _, slice := range slices.Concat(p.create, p.update) {
		delete(slice.Annotations, corev1.EndpointsLastChangeTriggerTime)
		if !p.since.IsZero() {
			metav1.SetMetaDataAnnotation(&slice.ObjectMeta, corev1.EndpointsLastChangeTriggerTime, p.since.UTC().Format(time.RFC3339Nano))
		}
	}
}
