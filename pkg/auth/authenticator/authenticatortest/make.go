package authenticatortest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Make makes a token. That of no changes is good for the client kube.
func (i *Issuer) Make(t Token, now time.Time) (string, error) {
	if t.Text != "" {
		return t.Text, nil
	}
	payload, err := i.payload(t, now)
	if err != nil {
		return "", err
	}
	if t.Key == "" {
		t.Key = "rsa"
	}
	if i.keys[t.Key] == nil {
		return "", fmt.Errorf("the key %q is not known", t.Key)
	}
	header := map[string]any{"alg": algorithmOf(t.Key), "kid": t.Key}
	maps.Copy(header, t.Header)
	maps.DeleteFunc(header, func(_ string, value any) bool { return value == nil })
	first, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	signs := t.Signs
	if signs == "" {
		signs = fmt.Sprint(header["alg"])
	}
	signed := encode(first) + "." + encode(payload)
	signature, err := i.sign(i.keys[t.Key], signs, []byte(signed))
	if err != nil {
		return "", err
	}
	return become(t.Becomes, signed, signature)
}

func (i *Issuer) payload(t Token, now time.Time) ([]byte, error) {
	if t.Payload != "" {
		text := strings.NewReplacer("$issuer", i.URL, "$exp", fmt.Sprint(now.Add(time.Hour).Unix())).Replace(t.Payload)
		return []byte(text), nil
	}
	claims := map[string]any{"iss": "$issuer", "aud": "kube", "sub": "ann", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(claims, t.Claims)
	for name, seconds := range t.Times {
		claims[name] = now.Unix() + int64(seconds)
	}
	for _, name := range t.Without {
		delete(claims, name)
	}
	text, err := json.Marshal(claims)
	return bytes.ReplaceAll(text, []byte("$issuer"), []byte(i.URL)), err
}

func algorithmOf(key string) string {
	return map[string]string{"rsa": "RS256", "other": "RS256", "p256": "ES256", "p384": "ES384"}[key]
}

// become changes a token that is signed, so that it is none any more.
func become(what, signed, signature string) (string, error) {
	first, payload, _ := strings.Cut(signed, ".")
	switch what {
	case "":
		return signed + "." + signature, nil
	case "unsigned":
		return signed + ".", nil
	case "two parts":
		return signed, nil
	case "four parts":
		return signed + "." + signature + "." + signature, nil
	case "with another signature":
		flipped := byte('A')
		if signature[0] == 'A' {
			flipped = 'B'
		}
		return signed + "." + string(flipped) + signature[1:], nil
	case "with another payload":
		text, err := base64.RawURLEncoding.DecodeString(payload)
		return first + "." + encode(bytes.ReplaceAll(text, []byte(`"ann"`), []byte(`"bob"`))) + "." + signature, err
	case "padded":
		return signed + "." + signature + "=", nil
	}
	return "", fmt.Errorf("nothing becomes %q", what)
}

func encode(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

var hashes = map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}

// sign returns the encoded signature of an algorithm. HS256 takes the public key in PEM for a password, as those servers
// did that could be cheated so.
func (i *Issuer) sign(key crypto.Signer, algorithm string, signed []byte) (string, error) {
	if algorithm == "none" {
		return "", nil
	}
	if algorithm == "HS256" {
		der, err := x509.MarshalPKIXPublicKey(key.Public())
		mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		mac.Write(signed)
		return encode(mac.Sum(nil)), err
	}
	kind, size := algorithm[:min(2, len(algorithm))], algorithm[min(2, len(algorithm)):]
	if hashes[size] == 0 {
		return "", fmt.Errorf("the algorithm %s is not known", algorithm)
	}
	hash := hashes[size].New()
	hash.Write(signed)
	sum := hash.Sum(nil)
	if private, ok := key.(*ecdsa.PrivateKey); ok && kind == "ES" {
		r, s, err := ecdsa.Sign(rand.Reader, private, sum)
		if err != nil {
			return "", err
		}
		length := (private.Curve.Params().BitSize + 7) / 8
		return encode(append(r.FillBytes(make([]byte, length)), s.FillBytes(make([]byte, length))...)), nil
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok || kind != "RS" && kind != "PS" {
		return "", fmt.Errorf("the key does not sign by %s", algorithm)
	}
	var signature []byte
	var err error
	if kind == "PS" {
		signature, err = rsa.SignPSS(rand.Reader, private, hashes[size], sum, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	} else {
		signature, err = rsa.SignPKCS1v15(rand.Reader, private, hashes[size], sum)
	}
	return encode(signature), err
}
