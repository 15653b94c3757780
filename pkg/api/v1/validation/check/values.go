package check

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Protocols are those that a port may have.
var Protocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

// Label asks for a DNS label.
func (c *Errors) Label(path *field.Path, value string) {
	c.Each(path, value, utilvalidation.IsDNS1123Label(value))
}

// Subdomain asks for a DNS subdomain.
func (c *Errors) Subdomain(path *field.Path, value string) {
	c.Each(path, value, utilvalidation.IsDNS1123Subdomain(value))
}

// Qualified asks for a name that may have a domain before it.
func (c *Errors) Qualified(path *field.Path, value string) {
	c.Each(path, value, utilvalidation.IsQualifiedName(value))
}

// RequireLabel asks for a text that is a DNS label.
func (c *Errors) RequireLabel(path *field.Path, value string) {
	if c.Require(path, value) {
		c.Label(path, value)
	}
}

// Name asks for a DNS subdomain, or for the beginning of one.
func (c *Errors) Name(at *field.Path, name string, prefix bool) {
	c.Each(at, name, apivalidation.NameIsDNSSubdomain(name, prefix))
}

// OptionalName asks for a DNS subdomain, or for nothing.
func (c *Errors) OptionalName(at *field.Path, name string) {
	if name != "" {
		c.Name(at, name, false)
	}
}

// LabelName asks for the name of a label.
func (c *Errors) LabelName(at *field.Path, name string) {
	c.Add(metavalidation.ValidateLabelName(name, at)...)
}

// LabelValue reports all that is wrong with a value in one error.
func (c *Errors) LabelValue(at *field.Path, value string) {
	if messages := utilvalidation.IsValidLabelValue(value); len(messages) > 0 {
		c.Add(field.Invalid(at, value, strings.Join(messages, ";")))
	}
}

// Selector asks for a selector that can be evaluated.
func (c *Errors) Selector(path *field.Path, selector *metav1.LabelSelector) {
	c.Add(metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{}, path)...)
}

// Trimmed asks for a text without spaces around it.
func (c *Errors) Trimmed(at *field.Path, text string) {
	c.InvalidIf(strings.TrimSpace(text) != text, at, text, "must not have leading or trailing whitespace")
}

// Nonnegative asks for 0 or more.
func (c *Errors) Nonnegative(path *field.Path, value int64) {
	c.Add(apivalidation.ValidateNonnegativeField(value, path)...)
}

// Positive asks for more than 0.
func (c *Errors) Positive(path *field.Path, value int64) {
	c.InvalidIf(value <= 0, path, value, "must be greater than zero")
}

// IP asks for an address, or for one of those that are known already.
func (c *Errors) IP(path *field.Path, value string, known ...string) {
	c.Add(utilvalidation.IsValidIPForLegacyField(path, value, true, known)...)
}

// CIDR asks for a range of addresses, or for one of those that are known already.
func (c *Errors) CIDR(path *field.Path, value string, known ...string) {
	c.Add(utilvalidation.IsValidCIDRForLegacyField(path, value, true, known)...)
}

// DualStack tells whether the addresses are two of different families.
func DualStack(ips []string) bool {
	if len(ips) != 2 {
		return false
	}
	a, errA := netip.ParseAddr(ips[0])
	b, errB := netip.ParseAddr(ips[1])
	return errA == nil && errB == nil && a.Is4() != b.Is4()
}

// PortNumber asks for a number of a port.
func (c *Errors) PortNumber(at *field.Path, port int32) {
	c.Each(at, port, utilvalidation.IsValidPortNum(int(port)))
}

// Port asks for a number or a name of a port.
func (c *Errors) Port(at *field.Path, port intstr.IntOrString) {
	if port.Type == intstr.String {
		c.Each(at, port.StrVal, utilvalidation.IsValidPortName(port.StrVal))
	} else {
		c.Each(at, port.IntValue(), utilvalidation.IsValidPortNum(port.IntValue()))
	}
}

// Relative asks for a path that stays below the directory that it begins in.
func (c *Errors) Relative(at *field.Path, name string) {
	c.InvalidIf(path.IsAbs(name), at, name, "must be a relative path")
	c.NoBacksteps(at, name)
}

// NoBacksteps asks for a path without "..".
func (c *Errors) NoBacksteps(at *field.Path, name string) {
	c.InvalidIf(slices.Contains(strings.Split(name, "/"), ".."), at, name, "must not contain '..'")
}

// TaintEffect asks for what a taint may do.
func (c *Errors) TaintEffect(at *field.Path, effect corev1.TaintEffect) {
	Supported(c, at, effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}
