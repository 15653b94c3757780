package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Factory makes a plugin of its configuration, which is nil if there is none. The error tells
// what is wrong with the configuration, by the path of the field, and nothing secret of it.
type Factory func(configuration json.RawMessage) (Interface, error)

// Plugins are factories by name.
type Plugins struct{ factories map[string]Factory }

// Register adds a factory. A name that is taken is a mistake in the program: Register panics.
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

// New makes the plugins of a list, in its order. The error joins one for each plugin whose
// configuration is wrong, or that there is not.
func (p *Plugins) New(names []string, configurations map[string]json.RawMessage) (*Chain, error) {
	chain := &Chain{}
	var errs []error
	for _, name := range names {
		factory := p.factories[name]
		if factory == nil {
			errs = append(errs, fmt.Errorf("there is no plugin %s", name))
			continue
		}
		made, err := factory(configurations[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		chain.plugins = append(chain.plugins, plugin{name, made})
	}
	return chain, errors.Join(errs...)
}
