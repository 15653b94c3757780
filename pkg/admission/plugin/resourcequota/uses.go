package resourcequota

import (
	"fmt"
	"maps"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/quota"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// uses is what the objects of a resource use of a quota.
type uses struct {
	all    corev1.ResourceList                 // all together, by the names of the quota that the resource uses
	stored func(id string) corev1.ResourceList // the stored objects of a name
	raised map[string]corev1.ResourceList      // objects with reservations, which may stand for stored ones
}

// usesOf returns what the stored objects of a resource use of a quota.
func (p *Plugin) usesOf(limits *corev1.ResourceQuota, row *rest.Resource) (*uses, error) {
	list, err := p.objects.List(storage.Selection{Kind: row.StoredKind, Namespace: limits.Namespace})
	if err != nil {
		return nil, err
	}
	usageOf := func(stored *storage.Object) corev1.ResourceList {
		usage, _, _ := p.usageOf(limits, row, stored) // it was decoded before
		return usage
	}
	var sum corev1.ResourceList
	if quota.Counts(limits, row.GroupResource()) {
		each := quota.Usage(row.GroupResource(), nil, p.Now())
		usageOf = func(*storage.Object) corev1.ResourceList { return each }
		sum = corev1.ResourceList{}
		for name, one := range each {
			sum[name] = *resource.NewQuantity(one.Value()*int64(len(list.Items)), one.Format)
		}
	} else if sum, err = p.measure(limits, row, list.Items); err != nil {
		return nil, err
	}
	u := &uses{all: corev1.ResourceList{}, raised: map[string]corev1.ResourceList{}}
	for _, name := range quota.Names(limits, row.GroupResource()) {
		u.all[name] = *resource.NewQuantity(0, resource.DecimalSI)
		if used, some := sum[name]; some {
			u.all[name] = used
		}
	}
	u.stored = func(id string) corev1.ResourceList { // other programs may have stored several tasks of one name
		usage := corev1.ResourceList{}
		first := sort.Search(len(list.Items), func(i int) bool { return list.Items[i].Key().ID >= id })
		for _, stored := range list.Items[first:] {
			if stored.Key().ID != id {
				break
			}
			defaults.Add(usage, usageOf(stored))
		}
		return usage
	}
	return u, nil
}

// of returns what the object of a name uses.
func (u *uses) of(id string) corev1.ResourceList {
	if raised, isRaised := u.raised[id]; isRaised {
		return raised
	}
	return u.stored(id)
}

// raise lets an object use at least what is given.
func (u *uses) raise(id string, usage corev1.ResourceList) {
	before := u.of(id)
	after := before.DeepCopy()
	for name := range u.all {
		if more := usage[name]; more.Cmp(before[name]) > 0 {
			sum := u.all[name].DeepCopy()
			sum.Add(more)
			sum.Sub(before[name])
			u.all[name], after[name] = sum, more
		}
	}
	u.raised[id] = after
}

// check returns an error if a demand exceeds a quota.
func (u *uses) check(limits *corev1.ResourceQuota, d demand) error {
	e := &exceededError{quota: limits.Name}
	has := u.of(d.name)
	for _, name := range quota.Names(limits, d.resource) {
		requested, used, hard := d.usage[name], u.all[name], limits.Spec.Hard[name]
		requested.Sub(has[name])
		sum := used.DeepCopy()
		if sum.Add(requested); requested.Sign() > 0 && sum.Cmp(hard) > 0 {
			e.add(name, requested.String(), used.String(), hard.String())
		}
	}
	if len(e.requested) == 0 {
		return nil
	}
	return e
}

// exceededError is the error of a request that exceeds a quota, in the words of today's server.
type exceededError struct {
	quota                    string
	requested, used, limited []string
}

func (e *exceededError) add(name corev1.ResourceName, requested, used, limited string) {
	e.requested = append(e.requested, string(name)+"="+requested)
	e.used = append(e.used, string(name)+"="+used)
	e.limited = append(e.limited, string(name)+"="+limited)
}

// Error implements error.
func (e *exceededError) Error() string {
	in := func(list []string) string { return strings.Join(list, ",") }
	return fmt.Sprintf("exceeded quota: %s, requested: %s, used: %s, limited: %s", e.quota, in(e.requested), in(e.used), in(e.limited))
}

// quota returns a quota from the store, or errNothing if it is gone.
func (p *Plugin) quota(key api.Key) (*corev1.ResourceQuota, error) {
	stored, err := p.objects.Get(key)
	switch {
	case api.KindOf(err) == api.NotFound:
		return nil, errNothing
	case err != nil:
		return nil, err
	}
	return p.quotas.Decode(stored)
}

// report writes what the stored objects of a resource use into the status of a quota.
func (p *Plugin) report(key api.Key, d demand) error {
	_, err := storage.GuaranteedUpdate(p.objects, key, func(stored *storage.Object) (api.Object, error) {
		if stored == nil {
			return nil, errNothing
		}
		before, err := p.quotas.Decode(stored)
		if err != nil {
			return nil, err
		}
		uses, err := p.usesOf(before, d.row)
		if err != nil {
			return nil, err
		}
		after := before.DeepCopy()
		if after.Status.Used == nil {
			after.Status.Used = corev1.ResourceList{}
		}
		maps.Copy(after.Status.Used, uses.all)
		if equality.Semantic.DeepEqual(before, after) {
			return nil, errNothing
		}
		next, err := p.quotas.Codec.ToInternal(after)
		if err == nil {
			next.Inherit(stored.Object)
		}
		return next, err
	})
	return err
}
