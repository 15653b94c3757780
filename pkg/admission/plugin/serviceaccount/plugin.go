// Package serviceaccount has the admission plugin that gives each new pod a service account, and a volume with a token of
// it. Both are for today's API: a task has none.
package serviceaccount

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/admission"
	plugins "kube2014/pkg/admission/plugin"
	"kube2014/pkg/util/pods"
)

// Name is the name of the plugin.
const Name = "ServiceAccount"

// DefaultTimeout bounds how long a pod waits for the account default of its namespace, which a controller makes.
var DefaultTimeout = 5 * time.Second

const (
	defaultAccount = "default"
	// enforceAnnotation limits the pods of an account to the secrets that the account names.
	enforceAnnotation = "kubernetes.io/enforce-mountable-secrets"
)

// Accounts finds service accounts, which must not be changed. Its methods are called concurrently. Their errors are those
// that clients get.
type Accounts interface {
	// Account returns an account, or the NotFound status.
	Account(namespace, name string) (*corev1.ServiceAccount, error)
	// Await is Account, but waits until the account is there or the context ends.
	Await(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
}

// WantsAccounts is a plugin that needs the accounts before the first request.
type WantsAccounts interface{ SetAccounts(Accounts) }

type plugin struct {
	admission.Operations
	accounts Accounts
}

var _ WantsAccounts = (*plugin)(nil)

// New creates the plugin.
var New = plugins.WithoutConfiguration(func() admission.Interface {
	return &plugin{Operations: admission.Operations{admission.Create}}
})

// SetAccounts implements WantsAccounts.
func (p *plugin) SetAccounts(accounts Accounts) { p.accounts = accounts }

// Admit implements admission.MutationInterface. The account is looked for first: what the pod lacks depends on it.
func (p *plugin) Admit(ctx context.Context, a *admission.Attributes) error {
	pod := plugins.PodIn(a)
	if pod == nil || pods.IsMirror(pod) {
		return nil
	}
	pod.Spec.ServiceAccountName = cmp.Or(pod.Spec.ServiceAccountName, defaultAccount)
	account, err := p.accountOf(ctx, a, pod)
	if err != nil {
		return err
	}
	if mounts(pod, account) {
		mountToken(&pod.Spec)
	}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, account.ImagePullSecrets...)
	}
	return nil
}

// mounts reports whether a pod gets a token: the pod decides, then the account.
func mounts(pod *corev1.Pod, account *corev1.ServiceAccount) bool {
	wish := cmp.Or(pod.Spec.AutomountServiceAccountToken, account.AutomountServiceAccountToken)
	return wish == nil || *wish
}

// Validate implements admission.ValidationInterface.
func (p *plugin) Validate(ctx context.Context, a *admission.Attributes) error {
	pod := plugins.PodIn(a)
	if pod == nil {
		return nil
	}
	if pods.IsMirror(pod) {
		return refused(a, checkMirror(&pod.Spec))
	}
	if pod.Spec.ServiceAccountName == "" {
		return refused(a, fmt.Errorf("no service account specified for pod %s/%s", a.Namespace, pod.Name))
	}
	account, err := p.accountOf(ctx, a, pod)
	if err != nil {
		return err
	}
	if only, _ := strconv.ParseBool(account.Annotations[enforceAnnotation]); !only {
		return nil
	}
	return refused(a, checkSecrets(&pod.Spec, account))
}

// accountOf returns the account of a pod. It waits for the account default.
func (p *plugin) accountOf(ctx context.Context, a *admission.Attributes, pod *corev1.Pod) (*corev1.ServiceAccount, error) {
	name := pod.Spec.ServiceAccountName
	account, err := p.accounts.Account(a.Namespace, name)
	if apierrors.IsNotFound(err) && name == defaultAccount {
		ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
		defer cancel()
		account, err = p.accounts.Await(ctx, a.Namespace, name)
	}
	if apierrors.IsNotFound(err) {
		return nil, refused(a, fmt.Errorf("error looking up service account %s/%s: %w", a.Namespace, name, apierrors.NewNotFound(corev1.Resource("serviceaccount"), name)))
	}
	return account, err
}

// refused returns the error that refuses a pod, nil without a reason.
func refused(a *admission.Attributes, why error) error {
	if why == nil {
		return nil
	}
	return admission.Forbidden(a, why)
}
