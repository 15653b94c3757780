package warnings

import (
	"crypto/tls"

	corev1 "k8s.io/api/core/v1"
)

// Secret tells why a certificate and a key are no pair.
var Secret = of(func(l *list, now, _ *corev1.Secret) {
	if now.Type == corev1.SecretTypeTLS {
		if _, err := tls.X509KeyPair(now.Data[corev1.TLSCertKey], now.Data[corev1.TLSPrivateKeyKey]); err != nil {
			l.add(err.Error())
		}
	}
})
