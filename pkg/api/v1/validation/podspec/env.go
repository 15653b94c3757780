package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// The fields of a pod that its containers can read, in variables or in files.
var (
	envFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
	volumeFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
	// knownFields are all names of fields. Some of them cannot be read.
	knownFields = append([]string{"metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase"}, envFields...)

	containerResources = []string{"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"}
)

func (c checks) env(vars []corev1.EnvVar, at *field.Path) {
	for i, v := range vars {
		c.RequireBy(at.Index(i).Child("name"), v.Name, c.variableName)
		if v.ValueFrom != nil {
			c.valueFrom(v.ValueFrom, v.Value, at.Index(i).Child("valueFrom"))
		}
	}
}

func (c checks) variableName(at *field.Path, name string) {
	c.Each(at, name, utilvalidation.IsRelaxedEnvVarName(name))
}

// namePrefix requires the beginning of the name of an object, as today's server does of whole names.
func (c checks) namePrefix(at *field.Path, name string) {
	c.Each(at, name, apivalidation.NameIsDNSSubdomain(name, true))
}

func (c checks) valueFrom(from *corev1.EnvVarSource, value string, at *field.Path) {
	if f := from.FieldRef; f != nil {
		c.fieldRef(f, envFields, at.Child("fieldRef"))
	}
	if r := from.ResourceFieldRef; r != nil {
		c.resourceRef(r, false, at.Child("resourceFieldRef"))
	}
	if k := from.ConfigMapKeyRef; k != nil {
		c.keyRef(k.Name, k.Key, at.Child("configMapKeyRef"))
	}
	if k := from.SecretKeyRef; k != nil {
		c.keyRef(k.Name, k.Key, at.Child("secretKeyRef"))
	}
	if f := from.FileKeyRef; f != nil {
		at := at.Child("fileKeyRef")
		c.RequireBy(at.Child("key"), f.Key, c.variableName)
		c.RequireLabel(at.Child("volumeName"), f.VolumeName)
		c.RequireBy(at.Child("path"), f.Path, c.NoBacksteps)
	}
	switch found := count(from.FieldRef != nil, from.ResourceFieldRef != nil, from.ConfigMapKeyRef != nil, from.SecretKeyRef != nil, from.FileKeyRef != nil); {
	case found == 0:
		c.Add(field.Invalid(at, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case value != "":
		c.Add(field.Invalid(at, "", "may not be specified when `value` is not empty"))
	case found > 1:
		c.Add(field.Invalid(at, "", "may not have more than one field specified at a time"))
	}
}

func count(values ...bool) (n int) {
	for _, value := range values {
		if value {
			n++
		}
	}
	return n
}

func (c checks) keyRef(name, key string, at *field.Path) {
	c.Subdomain(at.Child("name"), name)
	if c.Require(at.Child("key"), key) {
		c.Each(at.Child("key"), key, utilvalidation.IsConfigMapKey(key))
	}
}

func (c checks) fieldRef(ref *corev1.ObjectFieldSelector, readable []string, at *field.Path) {
	if !c.Require(at.Child("apiVersion"), ref.APIVersion) || !c.Require(at.Child("fieldPath"), ref.FieldPath) {
		return
	}
	unknown := func(why string) {
		c.Add(field.Invalid(at.Child("fieldPath"), ref.FieldPath, "error converting fieldPath: "+why))
	}
	path := ref.FieldPath
	list, key, keyed := strings.Cut(strings.TrimSuffix(path, "']"), "['")
	keyed = keyed && list != "" && strings.HasSuffix(path, "']")
	if path == "spec.host" {
		path = "spec.nodeName"
	}
	switch {
	case ref.APIVersion != "v1":
		unknown("unsupported pod version: " + ref.APIVersion)
	case keyed && list == "metadata.annotations":
		c.Qualified(at, strings.ToLower(key))
	case keyed && list == "metadata.labels":
		c.Qualified(at, key)
	case keyed:
		unknown("field label does not support subscript: " + path)
	case !slices.Contains(knownFields, path):
		unknown("field label not supported: " + path)
	default:
		check.Supported(c.Errors, at.Child("fieldPath"), path, readable...)
	}
}

// resourceRef checks a reference to a resource of a container, which must have a name in a volume.
func (c checks) resourceRef(ref *corev1.ResourceFieldSelector, inVolume bool, at *field.Path) {
	hugePages := strings.HasPrefix(ref.Resource, "requests.hugepages-") || strings.HasPrefix(ref.Resource, "limits.hugepages-")
	if !inVolume || c.Require(at.Child("containerName"), ref.ContainerName) {
		if c.Require(at.Child("resource"), ref.Resource) && !hugePages {
			check.Supported(c.Errors, at.Child("resource"), ref.Resource, containerResources...)
		}
	}
	if ref.Divisor.IsZero() {
		return
	}
	kinds := map[string]string{"cpu": "cpu", "memory": "memory", "ephemeral-storage": "local ephemeral storage"}
	kind := "hugepages"
	if !hugePages {
		if !slices.Contains(containerResources, ref.Resource) {
			return
		}
		_, name, _ := strings.Cut(ref.Resource, ".")
		kind = kinds[name]
	}
	divisors, sep := "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei", ", "
	if kind == "cpu" {
		divisors, sep = "1m and 1", " and "
	}
	c.InvalidIf(!slices.Contains(strings.Split(divisors, sep), ref.Divisor.String()), at.Child("divisor"), ref.Resource,
		fmt.Sprintf("only divisor's values %s are supported with the %s resource", divisors, kind))
}

func (c checks) envFrom(sources []corev1.EnvFromSource, at *field.Path) {
	for i, source := range sources {
		one := at.Index(i)
		c.Optional(one.Child("prefix"), source.Prefix, c.variableName)
		configMap, secret := source.ConfigMapRef, source.SecretRef
		if configMap != nil {
			c.RequireBy(one.Child("configMapRef", "name"), configMap.Name, c.namePrefix)
		}
		if secret != nil {
			c.RequireBy(one.Child("secretRef", "name"), secret.Name, c.namePrefix)
		}
		c.InvalidIf(configMap == nil && secret == nil, at, "", "must specify one of: `configMapRef` or `secretRef`")
		c.InvalidIf(configMap != nil && secret != nil, at, "", "may not have more than one field specified at a time")
	}
}
