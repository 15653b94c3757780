package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kube2014/pkg/util/pems"
)

// Names of the files of SelfSigned.
const (
	CertName = "apiserver.crt"
	KeyName  = "apiserver.key"
)

const (
	validity = 365 * 24 * time.Hour
	// renewal is how long before its end a certificate is renewed: a server runs for a while
	// after its start.
	renewal = 30 * 24 * time.Hour
	// skew is the tolerated difference between the clocks of machines.
	skew = time.Hour
)

// serverNames are the names of every server, besides that of its machine.
var serverNames = []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost", "127.0.0.1", "::1"}

// SelfSigned returns the files of a certificate and its key in dir. It creates them if there are none,
// and renews a self-signed certificate that ends soon. Any other existing pair is used as it is,
// whatever its names are. Hosts are names and addresses of the server; an unspecified address, such
// as 0.0.0.0, stands for all addresses of the machine. Several processes may call it at once.
//
// The key is written first and never replaced. So the files of a crash, or of two processes,
// match: a key without a certificate gets one. A certificate without a key is an error, because it
// may belong to the user.
func SelfSigned(dir string, hosts ...string) (certFile, keyFile string, err error) {
	certFile, keyFile = filepath.Join(dir, CertName), filepath.Join(dir, KeyName)
	pair, err := pems.ReadPair(certFile, keyFile)
	switch {
	case err == nil:
		if !endsSoon(pair.Leaf, time.Now()) {
			return certFile, keyFile, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", "", fmt.Errorf("%w; remove both to have them made anew", err)
	case exists(certFile) && !exists(keyFile): // in this order: a process that makes both makes the key first
		return "", "", fmt.Errorf("%s is there, but not its key, %s; remove it to have both made anew", certFile, keyFile)
	default:
		if err := makeKey(keyFile); err != nil {
			return "", "", err
		}
	}
	if err := makeCertificate(certFile, keyFile, hosts); err != nil {
		return "", "", err
	}
	return certFile, keyFile, nil
}

// endsSoon reports whether a certificate is self-signed, and ends soon or is not valid yet.
func endsSoon(certificate *x509.Certificate, now time.Time) bool {
	selfSigned := bytes.Equal(certificate.RawIssuer, certificate.RawSubject)
	return selfSigned && (now.Before(certificate.NotBefore) || now.Add(renewal).After(certificate.NotAfter))
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// makeKey writes a new key, unless there is one.
func makeKey(keyFile string) error {
	if exists(keyFile) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	err = place(keyFile, &pem.Block{Type: "PRIVATE KEY", Bytes: der}, false, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// makeCertificate writes a certificate for the names of a server and an existing key.
func makeCertificate(certFile, keyFile string, hosts []string) error {
	text, err := pems.Read(keyFile)
	if err != nil {
		return err
	}
	key, err := pems.PrivateKey(keyFile, text)
	if err != nil {
		return err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return err
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: fmt.Sprintf("%s@%d", hostname, now.Unix())},
		NotBefore: now.Add(-skew), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if template.DNSNames, template.IPAddresses, err = names(append(slices.Concat(hosts, serverNames), hostname)); err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("making a certificate for %q: %w", template.DNSNames, err)
	}
	return place(certFile, &pem.Block{Type: "CERTIFICATE", Bytes: der}, true, os.Rename)
}
