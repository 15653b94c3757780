package pems

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
)

// PrivateKey returns the first private key of a text, which may have other blocks too: a key
// of OpenSSL may have its curve in a block before it.
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
