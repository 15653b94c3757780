package openapi

// This file has information that the Go source of the types has in comments only. Left
// out are enums, unions, defaults, and the list types of server-side apply.

const (
	core = "io.k8s.api.core.v1."
	meta = "io.k8s.apimachinery.pkg.apis.meta.v1."
)

// descriptions are of types without documentation of their own.
var descriptions = map[string]string{
	meta + "MicroTime":  "A time with microseconds, as in RFC 3339: 2014-06-07T00:29:25.000000Z",
	meta + "Time":       "A time, as in RFC 3339: 2014-06-07T00:29:25Z",
	meta + "WatchEvent": "What happened to an object, and the object.",
	"io.k8s.apimachinery.pkg.api.resource.Quantity":   "A number with a unit, such as 100m or 2Gi.",
	"io.k8s.apimachinery.pkg.runtime.RawExtension":    "An object of any kind.",
	"io.k8s.apimachinery.pkg.util.intstr.IntOrString": "A number or a name.",
}

// exceptions are required fields that JSON may omit (true), and optional ones that it
// always has (false).
var exceptions = map[string]bool{
	core + "ContainerRestartRule.action":                 true,
	core + "ContainerRestartRuleOnExitCodes.operator":    true,
	core + "ImageVolumeStatus.imageRef":                  true,
	core + "PodCertificateProjection.keyType":            true,
	core + "PodCertificateProjection.signerName":         true,
	"io.k8s.api.authentication.v1.TokenReviewSpec.token": true,
	core + "ContainerImage.names":                        false,
	core + "Event.reportingComponent":                    false,
	core + "Event.reportingInstance":                     false,
	core + "GRPCAction.service":                          false,
	core + "NodeRuntimeHandler.name":                     false,
	core + "ProjectedVolumeSource.sources":               false,
	core + "TypedLocalObjectReference.apiGroup":          false,
	core + "TypedObjectReference.apiGroup":               false,
	"io.k8s.api.discovery.v1.EndpointSlice.endpoints":    false,
	"io.k8s.api.discovery.v1.EndpointSlice.ports":        false,
}
