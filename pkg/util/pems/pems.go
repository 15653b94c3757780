// Package pems reads certificates and keys in the PEM format. Its errors name the source, a file or a
// field, and never contain the content.
package pems

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// maxFile is the size of the largest file that is read, in bytes.
const maxFile = 1 << 20

// Read returns the content of a file. One of more than 1 MiB is an error.
func Read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return text, err
}

// Blocks returns the blocks of a text, which may be none. A broken block, which pem.Decode skips, is an
// error.
func Blocks(name string, text []byte) (blocks []*pem.Block, err error) {
	begun := bytes.Count(text, []byte("-----BEGIN "))
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		blocks = append(blocks, block)
	}
	if begun != len(blocks) {
		return nil, fmt.Errorf("%s: only %d of %d PEM blocks can be read", name, len(blocks), begun)
	}
	return blocks, nil
}

// Certificates returns the certificates of a text, which may have other blocks too. A text without
// certificates is an error.
func Certificates(name string, text []byte) (all []*x509.Certificate, err error) {
	blocks, err := Blocks(name, text)
	if err != nil {
		return nil, err
	}
	for _, block := range blocks {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d cannot be read", name, len(all)+1)
		}
		all = append(all, certificate)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no certificate (BEGIN CERTIFICATE)", name)
	}
	return all, nil
}

// Pool returns the certificates of a text as a pool, an empty one with an error: nil would stand for the system's. Its errors are
// those of Certificates.
func Pool(name string, text []byte) (*x509.CertPool, error) {
	all, err := Certificates(name, text)
	return PoolOf(all), err
}

// PoolOf returns certificates as a pool.
func PoolOf(all []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, certificate := range all {
		pool.AddCert(certificate)
	}
	return pool
}

// ReadCertificates is Certificates for a file.
func ReadCertificates(file string) ([]*x509.Certificate, error) {
	text, err := Read(file)
	if err != nil {
		return nil, err
	}
	return Certificates(file, text)
}

// ReadPool is Pool for a file.
func ReadPool(file string) (*x509.CertPool, error) {
	all, err := ReadCertificates(file)
	return PoolOf(all), err
}

// Pair returns a certificate with its private key. The certificates of its issuers may follow it.
func Pair(certName string, cert []byte, keyName string, key []byte) (*tls.Certificate, error) {
	if _, err := Certificates(certName, cert); err != nil {
		return nil, err
	}
	if _, err := PrivateKey(keyName, key); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil { // the error may contain a part of them
		return nil, fmt.Errorf("the certificate in %s and the private key in %s do not belong together", certName, keyName)
	}
	return &pair, nil
}

// ReadPair is Pair for two files.
func ReadPair(certFile, keyFile string) (*tls.Certificate, error) {
	cert, err := Read(certFile)
	if err != nil {
		return nil, err
	}
	key, err := Read(keyFile)
	if err != nil {
		return nil, err
	}
	return Pair(certFile, cert, keyFile, key)
}

// PrivateKey returns the first private key of a text, which may have other blocks too: OpenSSL writes
// a curve before its key.
func PrivateKey(name string, text []byte) (crypto.Signer, error) {
	blocks, err := Blocks(name, text)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(blocks, func(block *pem.Block) bool { return strings.HasSuffix(block.Type, "PRIVATE KEY") })
	if at < 0 {
		return nil, fmt.Errorf("%s has no private key (BEGIN PRIVATE KEY)", name)
	}
	block := blocks[at]
	if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
		return nil, fmt.Errorf("%s: the private key is encrypted, and there is nobody to ask for its password", name)
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return nil, fmt.Errorf("%s: the private key cannot be read", name)
}

// Request returns a request for a certificate. Its errors are those of kube-apiserver, which name no source.
func Request(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}
