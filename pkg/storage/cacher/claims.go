package cacher

import (
	"sync"

	"kube2014/pkg/api"
)

// claims maps each claim to its owner. It has no lock of its own.
type claims map[api.Claim]api.Object

// conflict returns the first wanted claim that an object with another key holds, and that
// object, nil if there is none.
func (c claims) conflict(of api.Key, wanted []api.Claim) (api.Claim, api.Object) {
	for _, claim := range wanted {
		if owner := c[claim]; owner != nil && owner.Key() != of {
			return claim, owner
		}
	}
	return api.Claim{}, nil
}

// check returns an api.HostPortTaken error if another object holds a claim of this one.
func (c claims) check(object api.Object) error {
	key := object.Key()
	if claim, owner := c.conflict(key, object.AppendClaims(nil)); owner != nil {
		return api.NewHostPortTaken(key.ID, claim.Number, claim.Space, owner.Key().ID)
	}
	return nil
}

func (c claims) add(object api.Object) {
	for _, claim := range object.AppendClaims(nil) {
		c[claim] = object
	}
}

// remove releases the claims of an object, except those that another object has taken over.
func (c claims) remove(object api.Object) {
	for _, claim := range object.AppendClaims(nil) {
		if c[claim] == object {
			delete(c, claim)
		}
	}
}

// ClaimsInFlight is the set of claims of the objects that this process is about to write. It
// prevents concurrent requests from choosing the same machine for one port; the store has
// the final say. It is safe for concurrent use.
type ClaimsInFlight struct {
	mu     sync.Mutex // guards claims
	claims claims
}

// NewClaimsInFlight returns an empty set.
func NewClaimsInFlight() *ClaimsInFlight { return &ClaimsInFlight{claims: claims{}} }

// Take reserves the claims of an object until Release, or returns the error of Check.
func (c *ClaimsInFlight) Take(object api.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.claims.check(object); err != nil {
		return err
	}
	c.claims.add(object)
	return nil
}

// Release releases the claims of an object that Take has reserved.
func (c *ClaimsInFlight) Release(object api.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims.remove(object)
}

// Check returns an api.HostPortTaken error if another object has reserved a claim of this one.
func (c *ClaimsInFlight) Check(object api.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claims.check(object)
}

// Len returns the number of reserved claims.
func (c *ClaimsInFlight) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.claims)
}
