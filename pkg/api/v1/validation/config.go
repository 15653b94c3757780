package validation

import (
	"bytes"
	"encoding/json"
	"maps"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

const whenImmutable = "field is immutable when `immutable` is set"

// ConfigMap checks the data of a config map, which may be immutable. Old is nil for a new one.
func ConfigMap(c *check.Errors, now, old *corev1.ConfigMap) {
	if old != nil && check.Is(old.Immutable) {
		c.Forbid(!check.Is(now.Immutable), field.NewPath("immutable"), whenImmutable)
		c.Forbid(!maps.Equal(now.Data, old.Data), field.NewPath("data"), whenImmutable)
		c.Forbid(!maps.EqualFunc(now.BinaryData, old.BinaryData, bytes.Equal), field.NewPath("binaryData"), whenImmutable)
	}
	size := 0
	for _, key := range check.SortedKeys(now.Data) {
		at := field.NewPath("data").Key(key)
		c.Each(at, key, utilvalidation.IsConfigMapKey(key))
		_, twice := now.BinaryData[key]
		c.InvalidIf(twice, at, key, "duplicate of key present in binaryData")
		size += len(now.Data[key])
	}
	size += checks{c}.data(now.BinaryData, field.NewPath("binaryData"))
	c.NotLonger(field.NewPath(""), size, corev1.MaxSecretSize)
}

// data checks the keys of data, and returns the size of the values in bytes.
func (c checks) data(data map[string][]byte, at *field.Path) (size int) {
	for _, key := range check.SortedKeys(data) {
		c.Each(at.Key(key), key, utilvalidation.IsConfigMapKey(key))
		size += len(data[key])
	}
	return size
}

// Secret checks the data of a secret, which may be immutable. No error contains a value. Old is nil for a new one.
func Secret(errors *check.Errors, secret, old *corev1.Secret) {
	c, at := checks{errors}, field.NewPath("data")
	if old != nil {
		c.Immutable(field.NewPath("type"), secret.Type, old.Type)
		c.Forbid(check.Is(old.Immutable) && !check.Is(secret.Immutable), field.NewPath("immutable"), whenImmutable)
		c.Forbid(check.Is(old.Immutable) && !maps.EqualFunc(secret.Data, old.Data, bytes.Equal), at, whenImmutable)
	}
	c.NotLonger(at, c.data(secret.Data, at), corev1.MaxSecretSize)
	has := func(key string) bool {
		_, there := secret.Data[key]
		return there
	}
	switch secret.Type {
	case corev1.SecretTypeServiceAccountToken:
		c.Require(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), secret.Annotations[corev1.ServiceAccountNameKey])
	case corev1.SecretTypeDockercfg:
		c.requireJSON(secret.Data, corev1.DockerConfigKey, at)
	case corev1.SecretTypeDockerConfigJson:
		c.requireJSON(secret.Data, corev1.DockerConfigJsonKey, at)
	case corev1.SecretTypeBasicAuth:
		neither := !has(corev1.BasicAuthUsernameKey) && !has(corev1.BasicAuthPasswordKey)
		c.RequiredIf(neither, at.Key(corev1.BasicAuthUsernameKey), "")
		c.RequiredIf(neither, at.Key(corev1.BasicAuthPasswordKey), "")
	case corev1.SecretTypeSSHAuth:
		c.RequiredIf(len(secret.Data[corev1.SSHAuthPrivateKey]) == 0, at.Key(corev1.SSHAuthPrivateKey), "")
	case corev1.SecretTypeTLS:
		c.RequiredIf(!has(corev1.TLSCertKey), at.Key(corev1.TLSCertKey), "")
		c.RequiredIf(!has(corev1.TLSPrivateKeyKey), at.Key(corev1.TLSPrivateKeyKey), "")
	}
}

// requireJSON requires a JSON object under a key.
func (c checks) requireJSON(data map[string][]byte, key string, at *field.Path) {
	text, there := data[key]
	c.RequiredIf(!there, at.Key(key), "")
	if err := json.Unmarshal(text, &map[string]any{}); there && err != nil {
		c.Add(field.Invalid(at.Key(key), "<secret contents redacted>", err.Error()))
	}
}

// ValidateTokenRequest checks how long a token is to last, in seconds.
var ValidateTokenRequest = creates(func(c checks, request *authenticationv1.TokenRequest) {
	c.TokenSeconds(field.NewPath("spec", "expirationSeconds"), *request.Spec.ExpirationSeconds)
})
