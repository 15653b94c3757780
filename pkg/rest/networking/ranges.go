package networking

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Ranges are what services get addresses and ports from. The zero value has none.
type Ranges struct {
	ClusterIPs          netip.Prefix // with at least MinBits and at most MaxBits bits for the host
	FirstPort, LastPort int          // of the node ports, both included
}

// The numbers of bits that a range of cluster IPs may have for the host.
const (
	MinBits = 3
	MaxBits = 20
)

// Given reports whether there are any.
func (r Ranges) Given() bool { return r.ClusterIPs.IsValid() }

// Family returns the one of the cluster IPs.
func (r Ranges) Family() corev1.IPFamily {
	if r.ClusterIPs.Addr().Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// First returns the first cluster IP, which the service of the server has.
func (r Ranges) First() netip.Addr { return r.address(1) }

// size returns one more than the number of the last cluster IP.
func (r Ranges) size() int {
	size := 1 << (r.ClusterIPs.Addr().BitLen() - r.ClusterIPs.Bits())
	if r.ClusterIPs.Addr().Is4() {
		size-- // the last address is for broadcasts
	}
	return size
}

// address returns the cluster IP of a number, which is at least 1.
func (r Ranges) address(number int) netip.Addr {
	bytes := r.ClusterIPs.Masked().Addr().AsSlice()
	low := bytes[len(bytes)-4:] // has all MaxBits
	binary.BigEndian.PutUint32(low, binary.BigEndian.Uint32(low)|uint32(number))
	address, _ := netip.AddrFromSlice(bytes)
	return address
}

// addresses yields all cluster IPs, in a random order of a kind. The first sixteenth comes last, as in today's server:
// there people choose addresses themselves.
func (r Ranges) addresses() iter.Seq[string] {
	size := r.size()
	static := min(max(16, size/16), 256, size)
	return func(send func(string) bool) {
		for _, part := range [][2]int{{static, size}, {1, static}} {
			for number := range shuffled(part[0], part[1]) {
				if !send(r.address(number).String()) {
					return
				}
			}
		}
	}
}

// ports yields all node ports, as addresses does.
func (r Ranges) ports() iter.Seq[string] {
	return func(send func(string) bool) {
		for number := range shuffled(r.FirstPort, r.LastPort+1) {
			if !send(strconv.Itoa(number)) {
				return
			}
		}
	}
}

// shuffled yields the numbers from one to before another, beginning anywhere.
func shuffled(from, to int) iter.Seq[int] {
	return func(send func(int) bool) {
		if from >= to {
			return
		}
		begin := rand.IntN(to - from)
		for i := range to - from {
			if !send(from + (begin+i)%(to-from)) {
				return
			}
		}
	}
}

// checkAddress returns an error, in the words of today's server, for an address that is no cluster IP.
func (r Ranges) checkAddress(text string) error {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return err
	case !r.ClusterIPs.Contains(address), address == r.address(0), address.Is4() && address == r.address(r.size()):
		return fmt.Errorf("the provided IP (%s) is not in the valid range. The range of valid IPs is %s", text, r.ClusterIPs)
	}
	return nil
}

// checkPort is checkAddress for node ports.
func (r Ranges) checkPort(port int32) error {
	if int(port) < r.FirstPort || int(port) > r.LastPort {
		return fmt.Errorf("the provided port is not in the valid range. The range of valid ports is %d-%d", r.FirstPort, r.LastPort)
	}
	return nil
}
