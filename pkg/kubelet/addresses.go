package kubelet

import (
	"net/netip"
	"sync"
)

// addresses gives the pods of a machine their addresses.
type addresses struct {
	prefix netip.Prefix // invalid for none

	mu    sync.Mutex // guards what follows
	taken map[netip.Addr]bool
}

func newAddresses(prefix netip.Prefix) *addresses {
	return &addresses{prefix: prefix.Masked(), taken: map[netip.Addr]bool{}}
}

// take returns the lowest address that is free. The first and the last one of the prefix are not
// for pods. The address is invalid if all are taken.
func (a *addresses) take() netip.Addr {
	if !a.prefix.IsValid() {
		return netip.Addr{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for ip := a.prefix.Addr().Next(); a.prefix.Contains(ip.Next()); ip = ip.Next() {
		if !a.taken[ip] {
			a.taken[ip] = true
			return ip
		}
	}
	return netip.Addr{}
}

func (a *addresses) giveBack(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.taken, ip)
}
