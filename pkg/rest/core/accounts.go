package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
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
	object, err := a.codec.Out(stored.Object)
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
