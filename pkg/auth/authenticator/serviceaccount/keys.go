package serviceaccount

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"

	"kube2014/pkg/util/pems"
)

// key checks signatures of its own algorithms only: who signs with another one does not have
// the private key.
type key struct {
	public     any                       // *rsa.PublicKey or *ecdsa.PublicKey
	algorithms []jose.SignatureAlgorithm // the first one signs
	id         string                    // in the header of a token, as today's server makes it
}

var (
	algorithmsOfRSA = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512}
	algorithms      = append([]jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512}, algorithmsOfRSA...) // of all keys
)

func readKeys(files []string) (keys []key, err error) {
	for _, file := range files {
		text, err := pems.Read(file)
		if err != nil {
			return nil, err
		}
		more, err := parseKeys(file, text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	return keys, nil
}

func parseKeys(file string, text []byte) (keys []key, err error) {
	blocks, err := pems.Blocks(file, text)
	if err != nil {
		return nil, err
	}
	for i, block := range blocks {
		if block.Type == "EC PARAMETERS" { // openssl writes it before the key
			continue
		}
		parsed, err := parseKey(block)
		if err != nil {
			return nil, fmt.Errorf("%s: PEM block %d %w", file, i+1, err)
		}
		keys = append(keys, parsed)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no key", file)
	}
	return keys, nil
}

// parsers has the parser of each type of PEM block.
var parsers = map[string]func(der []byte) (any, error){
	"PUBLIC KEY":      x509.ParsePKIXPublicKey,
	"RSA PUBLIC KEY":  func(der []byte) (any, error) { return x509.ParsePKCS1PublicKey(der) },
	"CERTIFICATE":     func(der []byte) (any, error) { return x509.ParseCertificate(der) },
	"PRIVATE KEY":     x509.ParsePKCS8PrivateKey,
	"RSA PRIVATE KEY": func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) },
	"EC PRIVATE KEY":  func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) },
}

// parseKey hides the error of a parser, which may contain a part of the key.
func parseKey(block *pem.Block) (key, error) {
	parse := parsers[block.Type]
	if parse == nil {
		return key{}, errors.New("is neither a key without a password nor a certificate")
	}
	parsed, err := parse(block.Bytes)
	if err != nil {
		return key{}, errors.New("is broken")
	}
	return newKey(parsed)
}

func newKey(parsed any) (key, error) {
	switch k := parsed.(type) {
	case *x509.Certificate:
		return newKey(k.PublicKey)
	case crypto.Signer: // a private key
		return newKey(k.Public())
	case *rsa.PublicKey:
		return identified(k, algorithmsOfRSA...)
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			return identified(k, jose.ES256)
		case elliptic.P384():
			return identified(k, jose.ES384)
		case elliptic.P521():
			return identified(k, jose.ES512)
		}
	}
	return key{}, errors.New("is a key for other things than JWTs of RSA or ECDSA")
}

func identified(public any, algorithms ...jose.SignatureAlgorithm) (key, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return key{}, errors.New("has a public key that cannot be encoded")
	}
	sum := sha256.Sum256(der)
	return key{public, algorithms, base64.RawURLEncoding.EncodeToString(sum[:])}, nil
}
