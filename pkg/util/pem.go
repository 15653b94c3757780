package util

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// PEMBlocks returns the blocks of a text in the PEM format. A broken block, which pem.Decode
// skips, is an error, and so is a text without blocks. An error tells nothing of the text.
func PEMBlocks(text []byte) (blocks []*pem.Block, err error) {
	begun := bytes.Count(text, []byte("-----BEGIN "))
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		blocks, text = append(blocks, block), rest
	}
	switch {
	case begun == 0:
		return nil, errors.New("there is nothing in the PEM format")
	case begun != len(blocks):
		return nil, fmt.Errorf("only %d of %d PEM blocks can be read", len(blocks), begun)
	}
	return blocks, nil
}

// CertPool returns the certificates of a text in the PEM format, which may hold nothing else.
func CertPool(text []byte) (*x509.CertPool, error) {
	blocks, err := PEMBlocks(text)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for i, block := range blocks {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("PEM block %d is no certificate", i+1)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("the certificate in PEM block %d is broken", i+1)
		}
		pool.AddCert(certificate)
	}
	return pool, nil
}

// ReadCertPool is CertPool of a file. Its errors name the file.
func ReadCertPool(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := CertPool(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return pool, nil
}
