package api

import (
	"net"
	"slices"
	"strconv"
)

// SplitAddress splits an address (HOST:PORT) into host and port. It reports false if the text
// is not an address: another program may have written the endpoints.
func SplitAddress(address string) (host string, port uint16, ok bool) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, false
	}
	number, err := strconv.ParseUint(text, 10, 16)
	return host, uint16(number), err == nil
}

// SameAddresses reports whether two lists have the same addresses, in any order. It ignores malformed ones.
func SameAddresses(a, b []string) bool { return slices.Equal(sortedAddresses(a), sortedAddresses(b)) }

// sortedAddresses returns the well-formed addresses, each in canonical form.
func sortedAddresses(addresses []string) (sorted []string) {
	for _, address := range addresses {
		if host, port, ok := SplitAddress(address); ok {
			sorted = append(sorted, net.JoinHostPort(host, strconv.Itoa(int(port))))
		}
	}
	slices.Sort(sorted)
	return sorted
}
