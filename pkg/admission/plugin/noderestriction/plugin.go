// Package noderestriction has the admission plugin that bounds what a node may write: the Node authorizer lets it write objects that
// it does not see.
package noderestriction

import (
	"context"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	plugins "kube2014/pkg/admission/plugin"
	"kube2014/pkg/api"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/util/pems"
)

// Name is the name of the plugin.
const Name = "NodeRestriction"

type plugin struct {
	admission.Operations
	authorizer authorizer.Authorizer
	pods       *plugins.Objects[*corev1.Pod]
	nodes      *plugins.Objects[*corev1.Node]
	claims     *plugins.Objects[*corev1.PersistentVolumeClaim]
	volumes    *plugins.Objects[*corev1.PersistentVolume]
	drivers    *plugins.Objects[*storagev1.CSIDriver]
}

var (
	_ plugins.WantsObjects       = (*plugin)(nil)
	_ plugins.WantsAuthorizer    = (*plugin)(nil)
	_ admission.SelectsResources = (*plugin)(nil)
)

// New creates the plugin.
var New = plugins.WithoutConfiguration(func() admission.Interface {
	return &plugin{Operations: admission.Operations{admission.Create, admission.Update, admission.Delete}}
})

// SetAuthorizer implements plugins.WantsAuthorizer.
func (p *plugin) SetAuthorizer(of authorizer.Authorizer) { p.authorizer = of }

// SetObjects implements plugins.WantsObjects.
func (p *plugin) SetObjects(_, untraced storage.Interface, _ rest.Catalogs) {
	core := corev1.SchemeGroupVersion
	p.pods = plugins.NewObjects[*corev1.Pod](untraced, api.TaskKind, core.WithKind("Pod"))
	p.nodes = plugins.NewObjects[*corev1.Node](untraced, api.NodeKind, core.WithKind("Node"))
	p.claims = plugins.NewObjects[*corev1.PersistentVolumeClaim](untraced, "persistentvolumeclaims", core.WithKind("PersistentVolumeClaim"))
	p.volumes = plugins.NewObjects[*corev1.PersistentVolume](untraced, "persistentvolumes", core.WithKind("PersistentVolume"))
	p.drivers = plugins.NewObjects[*storagev1.CSIDriver](untraced, "csidrivers", storagev1.SchemeGroupVersion.WithKind("CSIDriver"))
}

// change is a change by a node.
type change struct {
	*admission.Attributes
	node string
}

// refuse returns the error that refuses a change.
func (c change) refuse(format string, args ...any) error {
	return admission.Forbidden(c.Attributes, fmt.Errorf(format, args...))
}

// unexpected refuses what no kubelet sends.
func (c change) unexpected() error { return c.refuse("unexpected operation %q", c.Operation) }

// checks has the resources that nodes may write, with those who decide.
var checks = map[schema.GroupResource]func(*plugin, context.Context, change) error{
	corev1.Resource("pods"):                               (*plugin).checkPod,
	corev1.Resource("nodes"):                              (*plugin).checkNode,
	corev1.Resource("persistentvolumeclaims"):             (*plugin).checkClaim,
	corev1.Resource("serviceaccounts"):                    (*plugin).checkToken,
	coordinationv1.Resource("leases"):                     (*plugin).checkLease,
	storagev1.Resource("csinodes"):                        (*plugin).checkCSINode,
	resourcev1.Resource("resourceslices"):                 (*plugin).checkSlice,
	certificatesv1.Resource("certificatesigningrequests"): (*plugin).checkRequest,
}

// Selects implements admission.SelectsResources.
func (*plugin) Selects(resource schema.GroupResource, _ string) bool { return checks[resource] != nil }

// Admit implements admission.MutationInterface, so that it sees what the node has sent.
func (p *plugin) Admit(ctx context.Context, a *admission.Attributes) error {
	name, isNode := user.Node(a.User)
	if !isNode {
		return nil
	}
	c := change{a, name}
	if name == "" {
		return c.refuse("could not determine node from user %q", a.User.Name)
	}
	return checks[a.Resource.GroupResource()](p, ctx, c)
}

func (*plugin) checkLease(_ context.Context, c change) error {
	switch {
	case c.Namespace != corev1.NamespaceNodeLease:
		return c.refuse("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	case c.Name != c.node:
		return c.refuse("can only access node lease with the same name as the requesting node")
	}
	return nil
}

func (*plugin) checkCSINode(_ context.Context, c change) error {
	if c.Name != c.node {
		return c.refuse("can only access CSINode with the same name as the requesting node")
	}
	return nil
}

// checkSlice checks what the authorizer cannot see: a new slice, and each that the delete of a collection deletes.
func (*plugin) checkSlice(_ context.Context, c change) error {
	object, verb := c.Object, "create"
	switch c.Operation {
	case admission.Update:
		return nil
	case admission.Delete:
		object, verb = c.OldObject, "delete"
	}
	slice, isSlice := object.(*resourcev1.ResourceSlice)
	if !isSlice || slice.Spec.NodeName == nil || *slice.Spec.NodeName != c.node {
		return c.refuse("can only %s ResourceSlice with the same NodeName as the requesting node", verb)
	}
	return nil
}

// ofNodes are the signers of the certificates of nodes.
var ofNodes = []string{certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName}

// checkRequest lets a node request certificates of a node for itself alone.
func (*plugin) checkRequest(_ context.Context, c change) error {
	if c.Operation != admission.Create {
		return nil
	}
	request, isRequest := c.Object.(*certificatesv1.CertificateSigningRequest)
	if !isRequest {
		return c.refuse("the object is no CertificateSigningRequest")
	}
	if !slices.Contains(ofNodes, request.Spec.SignerName) {
		return nil
	}
	parsed, err := pems.Request(request.Spec.Request)
	switch {
	case err != nil:
		return c.refuse("unable to parse csr: %w", err)
	case parsed.Subject.CommonName != user.NodePrefix+c.node:
		return c.refuse("can only create a node CSR with CN=%s", user.NodePrefix+c.node)
	}
	return nil
}
