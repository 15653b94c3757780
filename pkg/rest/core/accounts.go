package core

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	serverrequest "kube2014/pkg/server/request"
	"kube2014/pkg/storage"
)

const accountsKind = "serviceaccounts"

// Accounts finds service accounts in a store. It is safe for concurrent use.
type Accounts struct {
	serving context.Context
	objects storage.Interface
	codec   *v1.Codec
}

// NewAccounts returns the accounts in a store. The context ends when the server is about to end, and its controllers with it.
func NewAccounts(serving context.Context, objects storage.Interface) Accounts {
	return Accounts{serving, objects, v1.NewCodec(coreGroup.WithKind("ServiceAccount"), accountsKind, v1.Scheme)}
}

// Account returns an account, which must not be changed, or the NotFound status. It may call the store only if the cache
// does not have the account.
func (a Accounts) Account(namespace, name string) (*corev1.ServiceAccount, error) {
	key := api.Key{Kind: accountsKind, Namespace: namespace, ID: name}
	stored, err := a.objects.Cached().Get(key)
	if err != nil {
		stored, err = a.objects.Get(key)
	}
	if err != nil {
		return nil, rest.StatusError(err, corev1.Resource("serviceaccounts"), name)
	}
	object, err := a.codec.ToVersioned(stored.Object)
	if err != nil {
		return nil, err
	}
	return object.(*corev1.ServiceAccount), nil
}

// Await is Account, but waits until the account is there or the context ends. If the server is about to end, nobody may make
// the account: the error is a 503 then.
func (a Accounts) Await(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	var watcher storage.Watcher
	version, err := a.objects.Version()
	if err == nil {
		watcher, err = a.objects.Watch(storage.Selection{Kind: accountsKind, Namespace: namespace}, version)
	}
	if err != nil {
		return nil, rest.StatusError(err, corev1.Resource("serviceaccounts"), name)
	}
	defer watcher.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.serving, cancel)()
	for {
		account, err := a.Account(namespace, name)
		if !apierrors.IsNotFound(err) {
			return account, err
		}
		if _, broken := watcher.Next(ctx); a.serving.Err() != nil {
			return nil, apierrors.NewServiceUnavailable("the server is about to end")
		} else if ctx.Err() != nil {
			return nil, err
		} else if broken != nil {
			return a.Await(ctx, namespace, name)
		}
	}
}

// tokens implements POST serviceaccounts/NAME/token, by which an account gets a token that ends with it.
type tokens struct {
	issuer               *serviceaccount.Issuer
	accounts             *genericregistry.Store[*corev1.ServiceAccount]
	pods, secrets, nodes rest.Getter
}

var tokenKind = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")

// New implements rest.Creater.
func (tokens) New() rest.Object { return &authenticationv1.TokenRequest{} }

// Create implements rest.Creater.
func (t tokens) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	admitted, err := options.Mutate(object, nil)
	if err != nil {
		return nil, err
	}
	request := admitted.(*authenticationv1.TokenRequest)
	defaults.TokenRequest(request)
	meta := field.NewPath("metadata")
	switch {
	case request.Name != "" && request.Name != key.Name:
		return nil, rest.Invalid(tokenKind.GroupKind(), key.Name, field.ErrorList{field.Invalid(meta.Child("name"), request.Name, "must match the service account name if specified")})
	case request.Namespace != "" && request.Namespace != key.Namespace:
		return nil, rest.Invalid(tokenKind.GroupKind(), key.Name, field.ErrorList{field.Invalid(meta.Child("namespace"), request.Namespace, "must match the service account namespace if specified")})
	}
	account, err := genericregistry.ObjectIn[*corev1.ServiceAccount](t.accounts.Get(ctx, key))
	if err != nil {
		return nil, err
	}
	if request.UID != "" && request.UID != account.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: tokenKind.Group, Resource: tokenKind.Kind}, key.Name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", request.UID, account.UID))
	}
	if len(request.Spec.Audiences) == 0 {
		request.Spec.Audiences = []string{t.issuer.Name}
	}
	now := t.accounts.Now()
	request.Name, request.Namespace, request.UID, request.CreationTimestamp = account.Name, account.Namespace, account.UID, metav1.Time{Time: now.UTC()}.Rfc3339Copy()
	request.Status = authenticationv1.TokenRequestStatus{}
	if errs := validation.ValidateTokenRequest(request); len(errs) > 0 {
		return nil, rest.Invalid(tokenKind.GroupKind(), "", errs)
	}
	if err := options.Validate(request, nil); err != nil {
		return nil, err
	}
	bound := serviceaccount.Bound{Namespace: account.Namespace, ServiceAccount: serviceaccount.Ref{Name: account.Name, UID: string(account.UID)}}
	if err := t.bind(ctx, &bound, request.Spec.BoundObjectRef); err != nil {
		return nil, err
	}
	lasts := time.Duration(*request.Spec.ExpirationSeconds) * time.Second
	token, id, err := t.issuer.Issue(bound, request.Spec.Audiences, now, lasts)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("failed to generate token: %w", err))
	}
	serverrequest.ObserverFrom(ctx).Annotate("authentication.kubernetes.io/issued-credential-id", serviceaccount.CredentialID(id))
	request.Status.Token = token
	request.Status.ExpirationTimestamp = metav1.Time{Time: now.Add(lasts).UTC()}.Rfc3339Copy()
	request.GetObjectKind().SetGroupVersionKind(tokenKind)
	return rest.MakeAnswer(request), nil
}

// bind binds a token to an object, nil for none.
func (t tokens) bind(ctx context.Context, bound *serviceaccount.Bound, to *authenticationv1.BoundObjectReference) error {
	if to == nil {
		return nil
	}
	key := rest.Key{Namespace: bound.Namespace, Name: to.Name}
	kind := schema.FromAPIVersionAndKind(to.APIVersion, to.Kind)
	var get rest.Getter
	var ref **serviceaccount.Ref
	switch kind.GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		get, ref = t.pods, &bound.Pod
	case schema.GroupKind{Kind: "Node"}:
		get, ref, key.Namespace = t.nodes, &bound.Node, ""
	case schema.GroupKind{Kind: "Secret"}:
		get, ref = t.secrets, &bound.Secret
	default:
		return apierrors.NewBadRequest("cannot bind token to object of type " + kind.String())
	}
	object, err := genericregistry.ObjectIn[rest.Object](get.Get(ctx, key))
	if err != nil {
		return err
	}
	if pod, ok := object.(*corev1.Pod); ok {
		if err := t.bindPod(ctx, bound, pod); err != nil {
			return err
		}
	}
	*ref = &serviceaccount.Ref{Name: to.Name, UID: string(object.GetUID())}
	if to.UID != "" && to.UID != object.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, to.Name,
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", to.UID))
	}
	return nil
}

// bindPod binds a token also to the node of a pod, which must run as the account.
func (t tokens) bindPod(ctx context.Context, bound *serviceaccount.Bound, pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName != bound.ServiceAccount.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", bound.ServiceAccount.Name))
	}
	if pod.Spec.NodeName == "" {
		return nil
	}
	bound.Node = &serviceaccount.Ref{Name: pod.Spec.NodeName}
	node, err := genericregistry.ObjectIn[*corev1.Node](t.nodes.Get(ctx, rest.Key{Name: pod.Spec.NodeName}))
	if err == nil {
		bound.Node.UID = string(node.UID)
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
