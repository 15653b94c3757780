// Package certs is the certificates and keys of a server: read from files, read again when
// they change, made when there are none. Its errors name files, and never tell what is in them.
package certs

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFile is the size of the largest file that is read, in bytes.
const maxFile = 1 << 20

func read(path string) ([]byte, error) {
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

// certificates returns the certificates in a PEM text, which may have other blocks too.
// The file is its name in errors.
func certificates(file string, text []byte) (all []*x509.Certificate, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d cannot be read", file, len(all)+1)
		}
		all = append(all, certificate)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no certificate (BEGIN CERTIFICATE)", file)
	}
	return all, nil
}

// privateKey returns the private key in a PEM text. The file is its name in errors.
func privateKey(file string, text []byte) (crypto.Signer, error) {
	block := keyBlock(text)
	switch {
	case block == nil:
		return nil, fmt.Errorf("%s has no private key (BEGIN PRIVATE KEY)", file)
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
		return nil, fmt.Errorf("%s: the private key is encrypted, and there is nobody to ask for its password", file)
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
	return nil, fmt.Errorf("%s: the private key cannot be read", file)
}

// keyBlock returns the first private key in a PEM text, nil if there is none. A key of
// OpenSSL may have its curve in a block before it.
func keyBlock(text []byte) *pem.Block {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return block
		}
	}
	return nil
}
