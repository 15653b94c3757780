package registry

import (
	"context"

	"kube2014/pkg/rest"
)

// Guarded is a store that checks more before it creates or updates an object.
type Guarded[T rest.Object] struct {
	*Store[T]
	Admitted Check // of an object that the mutating plugins have passed; nil for none
	Valid    Check // of a valid object; nil for none
}

// Check returns an error if the caller may not store an object. Old is nil for a new one.
type Check func(ctx context.Context, key rest.Key, object, old rest.Object) error

// Create implements rest.Creater.
func (g Guarded[T]) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	options.Admission = guard[T]{options, g, ctx, key}
	return g.Store.Create(ctx, key, object, options)
}

// Update implements rest.Updater. It may create an object too.
func (g Guarded[T]) Update(ctx context.Context, key rest.Key, change rest.Change, options rest.WriteOptions) (rest.Answer, bool, error) {
	options.Admission = guard[T]{options, g, ctx, key}
	return g.Store.Update(ctx, key, change, options)
}

// guard is an admission that decides after that of the options about the change of an object, and before it about a valid one.
type guard[T rest.Object] struct {
	rest.WriteOptions
	of  Guarded[T]
	ctx context.Context
	key rest.Key
}

// Mutate implements rest.Admission.
func (g guard[T]) Mutate(object, old rest.Object) (rest.Object, error) {
	object, err := g.WriteOptions.Mutate(object, old)
	if err == nil && g.of.Admitted != nil {
		err = g.of.Admitted(g.ctx, g.key, object, old)
	}
	return object, err
}

// Validate implements rest.Admission.
func (g guard[T]) Validate(object, old rest.Object) error {
	if g.of.Valid != nil {
		if err := g.of.Valid(g.ctx, g.key, object, old); err != nil {
			return err
		}
	}
	return g.WriteOptions.Validate(object, old)
}
