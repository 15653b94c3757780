package validation

import (
	"bytes"
	"encoding/json"
	"maps"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

const whenImmutable = "field is immutable when `immutable` is set"

// ValidateConfigMap checks a new config map.
func ValidateConfigMap(config *corev1.ConfigMap) field.ErrorList {
	c, size := newChecks(), 0
	c.Metadata(&config.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	for _, key := range check.SortedKeys(config.Data) {
		at := field.NewPath("data").Key(key)
		c.Each(at, key, utilvalidation.IsConfigMapKey(key))
		_, twice := config.BinaryData[key]
		c.InvalidIf(twice, at, key, "duplicate of key present in binaryData")
		size += len(config.Data[key])
	}
	size += c.data(config.BinaryData, field.NewPath("binaryData"))
	if size > corev1.MaxSecretSize {
		c.Add(field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return c.List
}

// data checks the keys of data, and returns the size of the values in bytes.
func (c checks) data(data map[string][]byte, at *field.Path) (size int) {
	for _, key := range check.SortedKeys(data) {
		c.Each(at.Key(key), key, utilvalidation.IsConfigMapKey(key))
		size += len(data[key])
	}
	return size
}

// ValidateConfigMapUpdate checks an update of a config map.
func ValidateConfigMapUpdate(now, old *corev1.ConfigMap) field.ErrorList {
	c := checks{&check.Errors{List: metadataUpdate(now, old)}}
	if check.Is(old.Immutable) {
		c.Forbid(!check.Is(now.Immutable), field.NewPath("immutable"), whenImmutable)
		c.Forbid(!maps.Equal(now.Data, old.Data), field.NewPath("data"), whenImmutable)
		c.Forbid(!maps.EqualFunc(now.BinaryData, old.BinaryData, bytes.Equal), field.NewPath("binaryData"), whenImmutable)
	}
	c.Add(ValidateConfigMap(now)...)
	return c.List
}

// ValidateSecret checks a new secret. No error contains a value.
func ValidateSecret(secret *corev1.Secret) field.ErrorList {
	c, at := newChecks(), field.NewPath("data")
	c.Metadata(&secret.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	if c.data(secret.Data, at) > corev1.MaxSecretSize {
		c.Add(field.TooLong(at, "", corev1.MaxSecretSize))
	}
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
	return c.List
}

// requireJSON requires a JSON object under a key.
func (c checks) requireJSON(data map[string][]byte, key string, at *field.Path) {
	text, there := data[key]
	c.RequiredIf(!there, at.Key(key), "")
	if err := json.Unmarshal(text, &map[string]any{}); there && err != nil {
		c.Add(field.Invalid(at.Key(key), "<secret contents redacted>", err.Error()))
	}
}

// ValidateSecretUpdate checks an update of a secret.
func ValidateSecretUpdate(now, old *corev1.Secret) field.ErrorList {
	c := checks{&check.Errors{List: metadataUpdate(now, old)}}
	c.Add(apivalidation.ValidateImmutableField(now.Type, old.Type, field.NewPath("type"))...)
	if check.Is(old.Immutable) {
		c.Forbid(!check.Is(now.Immutable), field.NewPath("immutable"), whenImmutable)
		c.Forbid(!maps.EqualFunc(now.Data, old.Data, bytes.Equal), field.NewPath("data"), whenImmutable)
	}
	c.Add(ValidateSecret(now)...)
	return c.List
}

// ValidateServiceAccount checks a new service account.
func ValidateServiceAccount(account *corev1.ServiceAccount) field.ErrorList {
	c := newChecks()
	c.Metadata(&account.ObjectMeta, true, apivalidation.ValidateServiceAccountName)
	return c.List
}

// ValidateTokenRequest checks how long a token is to last, in seconds.
func ValidateTokenRequest(request *authenticationv1.TokenRequest) field.ErrorList {
	c, at, seconds := newChecks(), field.NewPath("spec", "expirationSeconds"), *request.Spec.ExpirationSeconds
	c.InvalidIf(seconds < 10*60, at, seconds, "may not specify a duration less than 10 minutes")
	c.InvalidIf(seconds > 1<<32, at, seconds, "may not specify a duration larger than 2^32 seconds")
	return c.List
}

// ValidateServiceAccountUpdate checks an update of a service account.
func ValidateServiceAccountUpdate(now, old *corev1.ServiceAccount) field.ErrorList {
	return append(metadataUpdate(now, old), ValidateServiceAccount(now)...)
}
