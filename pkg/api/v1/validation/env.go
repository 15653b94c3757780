package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The fields of a pod that it can read about itself: in variables, in files.
var (
	envFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
	volumeFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
	// knownFields are named, but some of them can be read by nobody.
	knownFields = append([]string{"metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase"}, envFields...)

	containerResources = []string{"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"}
)

func (c *checks) env(vars []corev1.EnvVar, at *field.Path) {
	for i, v := range vars {
		if c.require(at.Index(i).Child("name"), v.Name) {
			c.each(at.Index(i).Child("name"), v.Name, utilvalidation.IsRelaxedEnvVarName(v.Name))
		}
		if v.ValueFrom != nil {
			c.valueFrom(v.ValueFrom, v.Value, at.Index(i).Child("valueFrom"))
		}
	}
}

func (c *checks) valueFrom(from *corev1.EnvVarSource, value string, at *field.Path) {
	found := 0
	if f := from.FieldRef; f != nil {
		found++
		c.fieldRef(f, envFields, at.Child("fieldRef"))
	}
	if r := from.ResourceFieldRef; r != nil {
		found++
		c.resourceRef(r, false, at.Child("resourceFieldRef"))
	}
	if k := from.ConfigMapKeyRef; k != nil {
		found++
		c.keyRef(k.Name, k.Key, at.Child("configMapKeyRef"))
	}
	if k := from.SecretKeyRef; k != nil {
		found++
		c.keyRef(k.Name, k.Key, at.Child("secretKeyRef"))
	}
	if f := from.FileKeyRef; f != nil {
		found++
		at := at.Child("fileKeyRef")
		if c.require(at.Child("key"), f.Key) {
			c.each(at.Child("key"), f.Key, utilvalidation.IsRelaxedEnvVarName(f.Key))
		}
		c.requireLabel(at.Child("volumeName"), f.VolumeName)
		if c.require(at.Child("path"), f.Path) {
			c.noBacksteps(at.Child("path"), f.Path)
		}
	}
	switch {
	case found == 0:
		c.add(field.Invalid(at, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case value != "":
		c.add(field.Invalid(at, "", "may not be specified when `value` is not empty"))
	case found > 1:
		c.add(field.Invalid(at, "", "may not have more than one field specified at a time"))
	}
}

func (c *checks) keyRef(name, key string, at *field.Path) {
	c.subdomain(at.Child("name"), name)
	if c.require(at.Child("key"), key) {
		c.each(at.Child("key"), key, utilvalidation.IsConfigMapKey(key))
	}
}

func (c *checks) fieldRef(ref *corev1.ObjectFieldSelector, readable []string, at *field.Path) {
	if !c.require(at.Child("apiVersion"), ref.APIVersion) || !c.require(at.Child("fieldPath"), ref.FieldPath) {
		return
	}
	unknown := func(why string) {
		c.add(field.Invalid(at.Child("fieldPath"), ref.FieldPath, "error converting fieldPath: "+why))
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
		c.qualified(at, strings.ToLower(key))
	case keyed && list == "metadata.labels":
		c.qualified(at, key)
	case keyed:
		unknown("field label does not support subscript: " + path)
	case !slices.Contains(knownFields, path):
		unknown("field label not supported: " + path)
	default:
		supported(c, at.Child("fieldPath"), path, readable...)
	}
}

// resourceRef checks which resource of which container is told; in a volume the container
// has a name.
func (c *checks) resourceRef(ref *corev1.ResourceFieldSelector, inVolume bool, at *field.Path) {
	hugePages := strings.HasPrefix(ref.Resource, "requests.hugepages-") || strings.HasPrefix(ref.Resource, "limits.hugepages-")
	if !inVolume || c.require(at.Child("containerName"), ref.ContainerName) {
		if c.require(at.Child("resource"), ref.Resource) && !hugePages {
			supported(c, at.Child("resource"), ref.Resource, containerResources...)
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
	divisors, told := "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei", ""
	if kind == "cpu" {
		divisors, told = "1m, 1", "1m and 1"
	} else {
		told = divisors
	}
	c.invalidIf(!slices.Contains(strings.Split(divisors, ", "), ref.Divisor.String()), at.Child("divisor"), ref.Resource,
		fmt.Sprintf("only divisor's values %s are supported with the %s resource", told, kind))
}

func (c *checks) envFrom(sources []corev1.EnvFromSource, at *field.Path) {
	for i, source := range sources {
		one := at.Index(i)
		if source.Prefix != "" {
			c.each(one.Child("prefix"), source.Prefix, utilvalidation.IsRelaxedEnvVarName(source.Prefix))
		}
		found := 0
		named := func(name string, at *field.Path) {
			found++
			if c.require(at.Child("name"), name) {
				c.name(at.Child("name"), name, true)
			}
		}
		if source.ConfigMapRef != nil {
			named(source.ConfigMapRef.Name, one.Child("configMapRef"))
		}
		if source.SecretRef != nil {
			named(source.SecretRef.Name, one.Child("secretRef"))
		}
		c.invalidIf(found == 0, at, "", "must specify one of: `configMapRef` or `secretRef`")
		c.invalidIf(found > 1, at, "", "may not have more than one field specified at a time")
	}
}
