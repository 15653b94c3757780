package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Factory creates a plugin from its configuration, which may be nil. The error names the invalid field
// of the configuration, and contains no values.
type Factory func(configuration json.RawMessage) (Interface, error)

// Plugins are factories by name.
type Plugins struct{ factories map[string]Factory }

// Register adds a factory. It panics if the name is registered already.
func (p *Plugins) Register(name string, factory Factory) {
	if p.factories == nil {
		p.factories = map[string]Factory{}
	}
	if p.factories[name] != nil {
		panic("admission: two plugins have the name " + name)
	}
	p.factories[name] = factory
}

// Names returns the names of all plugins, sorted.
func (p *Plugins) Names() []string { return slices.Sorted(maps.Keys(p.factories)) }

// New creates the plugins of a list, in its order. The error joins one for each plugin that is unknown
// or has an invalid configuration.
func (p *Plugins) New(names []string, configurations map[string]json.RawMessage) (*Chain, error) {
	chain := &Chain{}
	var errs []error
	for _, name := range names {
		factory := p.factories[name]
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
