package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Chain is an ordered list of plugins. A nil chain admits everything. It is safe for concurrent use.
type Chain struct {
	// Around decorates each call of a plugin, for metrics and traces: it must call next. It may be
	// nil, and must be set before the first request.
	Around func(call Call, next func() error) error

	plugins []plugin
}

type plugin struct {
	name string
	Interface
}

func (p plugin) idle(namespace string) bool {
	skips, ok := p.Interface.(SkipsNamespaces)
	return ok && skips.Idle(namespace)
}

// ignores reports whether there is nothing to decide about a change.
func (p plugin) ignores(a *Attributes) bool {
	if selects, ok := p.Interface.(SelectsResources); ok && !selects.Selects(a.Resource.GroupResource(), a.Subresource) {
		return true
	}
	return !p.Handles(a.Operation) || p.idle(a.Namespace)
}

// Call is one call of a plugin.
type Call struct {
	Plugin     string
	Step       Step
	Attributes *Attributes
}

// Step is a phase of admission.
type Step string

// The steps, with today's names.
const (
	Admit    Step = "admit"
	Validate Step = "validate"
)

// Begin begins the admission of one request. The attributes have no objects yet. The context is that
// of the request.
func (c *Chain) Begin(ctx context.Context, a Attributes) *Request {
	r := &Request{ctx: ctx, chain: c, attributes: a, operation: a.Operation, named: a.Name != ""}
	r.attributes.request = r
	return r
}

// Only returns a chain of those plugins whose names are wanted, nil if there are none.
func (c *Chain) Only(isWanted func(name string) bool) *Chain {
	own := *c
	own.plugins = slices.DeleteFunc(slices.Clone(c.plugins), func(p plugin) bool { return !isWanted(p.name) })
	if len(own.plugins) == 0 {
		return nil
	}
	return &own
}

// Idle reports whether no plugin has anything to decide about changes in a namespace.
func (c *Chain) Idle(namespace string) bool {
	return c == nil || !slices.ContainsFunc(c.plugins, func(p plugin) bool { return !p.idle(namespace) })
}

// Each calls a function with each plugin.
func (c *Chain) Each(do func(name string, plugin Interface)) {
	if c == nil {
		return
	}
	for _, plugin := range c.plugins {
		do(plugin.name, plugin.Interface)
	}
}

// Factory creates a plugin from its configuration, which may be nil. The error names the invalid field
// of the configuration, and contains no values.
type Factory func(configuration json.RawMessage) (Interface, error)

// Plugins are factories by name.
type Plugins map[string]Factory

// Names returns the names of all plugins, sorted.
func (p Plugins) Names() []string { return slices.Sorted(maps.Keys(p)) }

// New creates the plugins of a list, in its order. The error joins one for each plugin that is unknown
// or has an invalid configuration.
func (p Plugins) New(names []string, configurations map[string]json.RawMessage) (*Chain, error) {
	chain := &Chain{}
	var errs []error
	for _, name := range names {
		factory := p[name]
		if factory == nil {
			errs = append(errs, fmt.Errorf("there is no plugin %s", name))
			continue
		}
		created, err := factory(configurations[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		chain.plugins = append(chain.plugins, plugin{name, created})
	}
	return chain, errors.Join(errs...)
}
