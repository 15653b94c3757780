package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// handshake is the first byte that a client of TLS sends. No method of HTTP begins with it.
const handshake = 0x16

// certificate is made for this process when it is first needed. Nobody has signed it, as by default that of
// today's kubelet: apiservers do not verify it.
var certificate = sync.OnceValues(func() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubelet"}, DNSNames: []string{"localhost"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
})

var tlsConfig = &tls.Config{
	MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() },
}

// bothListener accepts connections with and without TLS.
type bothListener struct{ net.Listener }

// Accept implements net.Listener. It does not wait for what the client sends.
func (l bothListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &bothConn{Conn: conn}, nil
}

// bothConn is a connection whose first byte tells whether it has TLS. As it is one of HTTP, it is read before it is
// written. One reads at a time.
type bothConn struct {
	net.Conn // without TLS
	begun    bool
	secure   atomic.Pointer[tls.Conn] // nil without
}

// Read implements net.Conn.
func (c *bothConn) Read(to []byte) (int, error) {
	if !c.begun && len(to) > 0 {
		var first [1]byte
		n, err := c.Conn.Read(first[:])
		if n == 0 {
			return 0, err
		}
		c.begun = true
		if first[0] != handshake {
			to[0] = first[0]
			return 1, nil
		}
		c.secure.Store(tls.Server(readFrom{c.Conn, io.MultiReader(bytes.NewReader(first[:]), c.Conn)}, tlsConfig))
	}
	return c.conn().Read(to)
}

// conn returns the connection in use.
func (c *bothConn) conn() net.Conn {
	if secure := c.secure.Load(); secure != nil {
		return secure
	}
	return c.Conn
}

// Write implements net.Conn.
func (c *bothConn) Write(text []byte) (int, error) { return c.conn().Write(text) }

// Close implements net.Conn.
func (c *bothConn) Close() error { return c.conn().Close() }

// readFrom is a connection that is read from elsewhere.
type readFrom struct {
	net.Conn
	from io.Reader
}

// Read implements net.Conn.
func (r readFrom) Read(to []byte) (int, error) { return r.from.Read(to) }
