package check

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Protocols are the protocols of ports.
var Protocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

// Label requires a DNS label.
func (c *Errors) Label(path *field.Path, value string) {
	c.Each(path, value, utilvalidation.IsDNS1123Label(value))
}

// Subdomain requires a DNS subdomain.
func (c *Errors) Subdomain(path *field.Path, value string) {
	c.Each(path, value, utilvalidation.IsDNS1123Subdomain(value))
}

// Qualified requires a name with an optional domain before it.
func (c *Errors) Qualified(path *field.Path, value string) {
	c.Each(path, value, utilvalidation.IsQualifiedName(value))
}

// RequireLabel requires a text that is set, and a DNS label.
func (c *Errors) RequireLabel(path *field.Path, value string) { c.RequireBy(path, value, c.Label) }

// Name requires a DNS subdomain as the name of an object.
func (c *Errors) Name(at *field.Path, name string) {
	c.Each(at, name, apivalidation.NameIsDNSSubdomain(name, false))
}

// OptionalName requires the name of an object or "".
func (c *Errors) OptionalName(at *field.Path, name string) { c.Optional(at, name, c.Name) }

// LabelName requires the name of a label.
func (c *Errors) LabelName(at *field.Path, name string) {
	c.Add(metavalidation.ValidateLabelName(name, at)...)
}

// LabelValue requires the value of a label. All mistakes are one error.
func (c *Errors) LabelValue(at *field.Path, value string) {
	if messages := utilvalidation.IsValidLabelValue(value); len(messages) > 0 {
		c.Add(field.Invalid(at, value, strings.Join(messages, ";")))
	}
}

// Selector requires a valid selector.
func (c *Errors) Selector(path *field.Path, selector *metav1.LabelSelector) {
	c.Add(metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{}, path)...)
}

// Trimmed requires a text without surrounding white space.
func (c *Errors) Trimmed(at *field.Path, text string) {
	c.InvalidIf(strings.TrimSpace(text) != text, at, text, "must not have leading or trailing whitespace")
}

// Nonnegative requires a value of at least 0.
func (c *Errors) Nonnegative(path *field.Path, value int64) {
	c.Add(apivalidation.ValidateNonnegativeField(value, path)...)
}

// Positive requires a value greater than 0.
func (c *Errors) Positive(path *field.Path, value int64) {
	c.InvalidIf(value <= 0, path, value, "must be greater than zero")
}

// IP requires an address, or one of the known values.
func (c *Errors) IP(path *field.Path, value string, known ...string) {
	c.Add(utilvalidation.IsValidIPForLegacyField(path, value, true, known)...)
}

// CIDR requires a range of addresses, or one of the known values.
func (c *Errors) CIDR(path *field.Path, value string, known ...string) {
	c.Add(utilvalidation.IsValidCIDRForLegacyField(path, value, true, known)...)
}

// DualStack reports whether there are two addresses, of different families.
func DualStack(ips []string) bool {
	if len(ips) != 2 {
		return false
	}
	a, errA := netip.ParseAddr(ips[0])
	b, errB := netip.ParseAddr(ips[1])
	return errA == nil && errB == nil && a.Is4() != b.Is4()
}

// PortNumber requires the number of a port.
func (c *Errors) PortNumber(at *field.Path, port int32) {
	c.Each(at, port, utilvalidation.IsValidPortNum(int(port)))
}

// Port requires the number or the name of a port.
func (c *Errors) Port(at *field.Path, port intstr.IntOrString) {
	if port.Type == intstr.String {
		c.Each(at, port.StrVal, utilvalidation.IsValidPortName(port.StrVal))
	} else {
		c.Each(at, port.IntValue(), utilvalidation.IsValidPortNum(port.IntValue()))
	}
}

// Share requires a number of objects or a percentage of them, if it is set, and returns the number.
func (c *Errors) Share(at *field.Path, value *intstr.IntOrString) int {
	switch {
	case value == nil:
		return 0
	case value.Type == intstr.Int:
		c.Nonnegative(at, int64(value.IntVal))
		return value.IntValue()
	}
	c.Each(at, value, utilvalidation.IsValidPercent(value.StrVal))
	percent, _ := intstr.GetScaledValueFromIntOrPercent(value, 100, false) // 0 for what is none: there is an error
	return percent
}

// AtMostAll requires that a percentage, if it is one, is at most 100%.
func (c *Errors) AtMostAll(at *field.Path, value *intstr.IntOrString) {
	if value != nil && value.Type == intstr.String && len(utilvalidation.IsValidPercent(value.StrVal)) == 0 {
		percent, err := intstr.GetScaledValueFromIntOrPercent(value, 100, false)
		c.InvalidIf(err != nil || percent > 100, at, value, "must not be greater than 100%")
	}
}

// TokenSeconds requires how long a token may last.
func (c *Errors) TokenSeconds(at *field.Path, seconds int64) {
	c.InvalidIf(seconds < 10*60, at, seconds, "may not specify a duration less than 10 minutes")
	c.InvalidIf(seconds > 1<<32, at, seconds, "may not specify a duration larger than 2^32 seconds")
}

// Relative requires a relative path that does not leave its directory.
func (c *Errors) Relative(at *field.Path, name string) {
	c.InvalidIf(path.IsAbs(name), at, name, "must be a relative path")
	c.NoBacksteps(at, name)
}

// NoBacksteps requires a path without "..".
func (c *Errors) NoBacksteps(at *field.Path, name string) {
	c.InvalidIf(slices.Contains(strings.Split(name, "/"), ".."), at, name, "must not contain '..'")
}

// TaintEffect requires the effect of a taint.
func (c *Errors) TaintEffect(at *field.Path, effect corev1.TaintEffect) {
	Supported(c, at, effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}

// Metadata checks the metadata of a new object.
func (c *Errors) Metadata(meta *metav1.ObjectMeta, namespaced bool, name apivalidation.ValidateNameFunc) {
	path := field.NewPath("metadata")
	c.Add(apivalidation.ValidateObjectMeta(meta, namespaced, name, path)...)
	c.finalizers(meta, path)
}

// MetadataUpdate checks the metadata of an update.
func (c *Errors) MetadataUpdate(now, old *metav1.ObjectMeta) {
	path := field.NewPath("metadata")
	c.Add(apivalidation.ValidateObjectMetaUpdate(now, old, path)...)
	c.finalizers(now, path)
}

// LabelsAndAnnotations checks the labels and annotations of a template.
func (c *Errors) LabelsAndAnnotations(meta *metav1.ObjectMeta, at *field.Path) {
	c.Add(metavalidation.ValidateLabels(meta.Labels, at.Child("labels"))...)
	c.Add(apivalidation.ValidateAnnotations(meta.Annotations, at.Child("annotations"))...)
}

func (c *Errors) finalizers(meta *metav1.ObjectMeta, path *field.Path) {
	for i, name := range meta.Finalizers {
		c.StandardFinalizer(path.Child("finalizers").Index(i), name)
	}
}

// StandardFinalizer requires that a finalizer without a domain is a standard one.
func (c *Errors) StandardFinalizer(at *field.Path, name string) {
	standard := []string{"kubernetes", metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	c.InvalidIf(!strings.Contains(name, "/") && !slices.Contains(standard, name), at, name, "name is neither a standard finalizer name nor is it fully qualified")
}

var (
	// ComputeResources are the standard resources of containers, except huge pages.
	ComputeResources = []string{"cpu", "memory", "ephemeral-storage"}
	// countedResources have integer quantities.
	countedResources = []string{"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
		"persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
	otherResources = []string{"storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage", "requests.storage",
		"limits.cpu", "limits.memory", "limits.ephemeral-storage"}
)

// Quantity requires a quantity that is not negative, and an integer where objects are counted.
func (c *Errors) Quantity(name corev1.ResourceName, q resource.Quantity, at *field.Path) {
	c.InvalidIf(q.Sign() < 0, at, q.String(), "must be greater than or equal to 0")
	counted := slices.Contains(countedResources, string(name)) || IsExtended(name)
	c.InvalidIf(counted && q.MilliValue()%1000 != 0, at, q, "must be an integer")
}

// ResourceName requires the name of a resource, and reports whether it is one.
func (c *Errors) ResourceName(at *field.Path, name corev1.ResourceName) bool {
	if messages := utilvalidation.IsQualifiedName(string(name)); len(messages) > 0 {
		c.Each(at, name, messages)
		return false
	}
	known := slices.Concat(ComputeResources, countedResources, otherResources)
	bad := !strings.Contains(string(name), "/") && !isQuotaHugePages(name) && !slices.Contains(known, string(name))
	c.InvalidIf(bad, at, name, "must be a standard resource type or fully qualified")
	return !bad
}

// ContainerResource requires the name of a resource that a container may have.
func (c *Errors) ContainerResource(at *field.Path, name corev1.ResourceName) {
	c.ResourceName(at, name)
	if !strings.Contains(string(name), "/") {
		c.InvalidIf(!IsHugePages(name) && !slices.Contains(ComputeResources, string(name)), at, name, "must be a standard resource for containers")
	} else if !IsNative(name) {
		c.InvalidIf(!IsExtended(name), at, name, "doesn't follow extended resource name standard")
	}
}

// IsQuotaResource reports whether a quota knows a name, which has no domain.
func IsQuotaResource(name corev1.ResourceName) bool {
	known := slices.Concat(ComputeResources, countedResources, otherResources[1:]) // all but storage
	return isQuotaHugePages(name) || slices.Contains(known, string(name))
}

func isQuotaHugePages(name corev1.ResourceName) bool {
	return IsHugePages(corev1.ResourceName(strings.TrimPrefix(string(name), "requests.")))
}

// IsHugePages reports whether a resource is memory in huge pages.
func IsHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// IsNative reports whether a resource is one of Kubernetes. Other ones have a domain.
func IsNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), "kubernetes.io/")
}

// IsExtended reports whether a resource is an extended resource that a container may request.
func IsExtended(name corev1.ResourceName) bool {
	return !IsNative(name) && !strings.HasPrefix(string(name), "requests.") && len(utilvalidation.IsQualifiedName("requests."+string(name))) == 0
}
