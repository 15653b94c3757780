package webhook

import (
	"log"
	"math"
	"sync"
	"sync/atomic"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/validation/webhooks"
	"kube2014/pkg/storage"
)

// configurations has the webhooks of the configurations in the store. It makes those of each configuration once, so that they
// keep their connections. It is safe for concurrent use.
type configurations struct {
	*plugin.Objects[runtime.Object]
	newHooks func(configuration string, of []admissionregistrationv1.MutatingWebhook) []*hook

	making sync.Mutex
	latest atomic.Pointer[made]
}

// made is immutable.
type made struct {
	changed uint64 // the version of the last change of a configuration
	all     []*hook
	of      map[*storage.Object][]*hook
}

func newConfigurations(resource string, kind schema.GroupVersionKind, newHooks func(string, []admissionregistrationv1.MutatingWebhook) []*hook) *configurations {
	c := &configurations{Objects: plugin.NewObjects[runtime.Object](nil, api.Kind(resource), kind), newHooks: newHooks}
	c.latest.Store(&made{changed: math.MaxUint64}) // which no version is
	return c
}

// hooks returns the webhooks of now, by the names of their configurations. They are shared and must not be changed.
func (c *configurations) hooks() ([]*hook, error) {
	changed, err := c.Changed()
	if err != nil {
		return nil, err
	}
	if last := c.latest.Load(); last.changed == changed {
		return last.all, nil
	}
	c.making.Lock()
	defer c.making.Unlock()
	stored, err := c.Stored("")
	if err != nil {
		return nil, err
	}
	last, next := c.latest.Load(), &made{changed: changed, of: make(map[*storage.Object][]*hook, len(stored))} // a change after the version may be in it, and is read again
	for _, one := range stored {
		hooks, known := last.of[one]
		if !known {
			hooks = c.read(one)
		}
		next.of[one], next.all = hooks, append(next.all, hooks...)
	}
	c.latest.Store(next)
	return next.all, nil
}

// read returns the webhooks of a stored configuration: none if it cannot be read.
func (c *configurations) read(stored *storage.Object) []*hook {
	name := stored.Key().ID
	object, err := c.Codec.Out(stored.Object)
	if err != nil {
		log.Printf("%s %s has no webhooks: %s", c.Kind, api.Quote(name), api.Printable(err.Error(), ' '))
		return nil
	}
	switch of := object.DeepCopyObject().(type) { // the webhooks get their defaults
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return c.newHooks(name, of.Webhooks)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return c.newHooks(name, webhooks.OfValidating(of.Webhooks))
	}
	return nil
}
