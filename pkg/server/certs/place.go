package certs

import (
	"encoding/pem"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
)

// place writes a PEM block to a file atomically. Only the owner may read it, unless it is public. By is
// os.Rename, which replaces an existing file, or os.Link, which does not.
func place(path string, block *pem.Block, public bool, by func(from, to string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = pem.Encode(file, block)
	if public {
		err = errors.Join(err, file.Chmod(0o644))
	}
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = by(file.Name(), path)
	}
	if gone := os.Remove(file.Name()); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return errors.Join(err, syncDir(dir))
}

// syncDir waits until the names of files in a folder are on the disk.
func syncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// names returns the names and the addresses of a certificate for hosts, without duplicates.
func names(hosts []string) (dns []string, addresses []net.IP, err error) {
	add := func(address net.IP) {
		if !slices.ContainsFunc(addresses, address.Equal) {
			addresses = append(addresses, address)
		}
	}
	for _, host := range hosts {
		switch address := net.ParseIP(host); {
		case host == "" || slices.Contains(dns, host):
		case address == nil:
			dns = append(dns, host)
		case address.IsUnspecified():
			all, err := net.InterfaceAddrs()
			if err != nil {
				return nil, nil, err
			}
			for _, one := range all {
				if network, ok := one.(*net.IPNet); ok {
					add(network.IP)
				}
			}
		default:
			add(address)
		}
	}
	return dns, addresses, nil
}
