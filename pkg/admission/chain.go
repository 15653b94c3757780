package admission

import (
	"context"
	"slices"
)

// Chain is an ordered list of plugins. A nil one admits everything. It is safe for concurrent use.
type Chain struct {
	// Around is called around each call of a plugin, which next makes: for metrics and traces.
	// It is to be set before the first request, or nil.
	Around func(call Call, next func() error) error

	plugins []plugin
}

type plugin struct {
	name string
	Interface
}

// Call is one call of a plugin.
type Call struct {
	Plugin     string
	Step       Step
	Attributes *Attributes
}

// Step is what a plugin is asked for.
type Step string

// The steps, in today's words.
const (
	Admit    Step = "admit"
	Validate Step = "validate"
)

// Begin begins the admission of one request. The attributes are without the objects. The context
// is the request's.
func (c *Chain) Begin(ctx context.Context, a Attributes) *Request {
	r := &Request{ctx: ctx, chain: c, attributes: a, operation: a.Operation}
	r.attributes.request = r
	return r
}

// Without returns a chain of the same plugins but one, nil if there are no others.
func (c *Chain) Without(name string) *Chain {
	if c == nil {
		return nil
	}
	own := *c
	own.plugins = slices.DeleteFunc(slices.Clone(c.plugins), func(p plugin) bool { return p.name == name })
	if len(own.plugins) == 0 {
		return nil
	}
	return &own
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

// call asks a plugin.
func (c *Chain) call(called Call, next func() error) error {
	if c.Around == nil {
		return next()
	}
	return c.Around(called, next)
}
