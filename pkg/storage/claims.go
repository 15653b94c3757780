package storage

import (
	"sync"

	"kube2014/pkg/api"
)

// claims are the objects that hold a claim, by space and name. They have no lock of their own.
type claims map[string]map[string]api.Object

// owner returns the object that holds a claim, nil for none.
func (c claims) owner(claim api.Claim) api.Object { return c[claim.Space][claim.Name] }

// conflict returns the first claim of an object that another one holds, and that one; nil if there is none.
func (c claims) conflict(object api.Object) (api.Claim, api.Object) {
	for _, claim := range object.Claims() {
		if owner := c.owner(claim); owner != nil && owner.Key() != object.Key() {
			return claim, owner
		}
	}
	return api.Claim{}, nil
}

// check returns the error of api.NewTaken if another object holds a claim of this one.
func (c claims) check(object api.Object) error {
	if claim, owner := c.conflict(object); owner != nil {
		return api.NewTaken(object.Key(), claim, owner.Key())
	}
	return nil
}

// add lets an object hold its claims.
func (c claims) add(object api.Object) {
	for _, claim := range object.Claims() {
		names := c[claim.Space]
		if names == nil {
			names = map[string]api.Object{}
			c[claim.Space] = names
		}
		names[claim.Name] = object
	}
}

// remove releases the claims of an object, but for those that another one holds by now.
func (c claims) remove(object api.Object) {
	for _, claim := range object.Claims() {
		if names := c[claim.Space]; names[claim.Name] == object {
			if delete(names, claim.Name); len(names) == 0 {
				delete(c, claim.Space)
			}
		}
	}
}

// ClaimsInFlight are the claims of the objects that this process is about to write. They keep
// concurrent requests from choosing the same machine for one port; the store decides. It is
// safe for concurrent use.
type ClaimsInFlight struct {
	mu     sync.Mutex // guards claims
	claims claims
}

// NewClaimsInFlight returns an empty set.
func NewClaimsInFlight() *ClaimsInFlight { return &ClaimsInFlight{claims: claims{}} }

// Take takes the claims of an object until it is released, or returns the error of Check.
func (c *ClaimsInFlight) Take(object api.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.claims.check(object); err != nil {
		return err
	}
	c.claims.add(object)
	return nil
}

// Release gives back what Take has taken.
func (c *ClaimsInFlight) Release(object api.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims.remove(object)
}

// Check returns the error of api.NewTaken if another object has taken a claim of this one.
func (c *ClaimsInFlight) Check(object api.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claims.check(object)
}

// Len returns how many claims are taken.
func (c *ClaimsInFlight) Len() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, names := range c.claims {
		n += len(names)
	}
	return n
}
