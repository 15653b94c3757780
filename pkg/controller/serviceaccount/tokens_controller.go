package serviceaccount

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

// Signer returns a token of a service account that is valid as long as a secret holds it.
type Signer func(namespace, account string, uid types.UID, secret string) (token string, err error)

// TokensController fills the secrets of type kubernetes.io/service-account-token with a token, and deletes those whose
// service account is gone. Its work can be repeated, also by several controllers at once.
type TokensController struct {
	*controller.Loop // over keys of secrets, followed by a slash and the name of the account
	sign             Signer
	certificate      *certificate
	secrets          *cache.SharedInformer[*corev1.Secret]
	accounts         *cache.SharedInformer[*metav1.PartialObjectMetadata]
}

const ofAccount = "account" // the index of secrets by the keys of their accounts

// NewTokensController returns a controller that also puts a certificate in PEM into the secrets, unless it is "".
func NewTokensController(config controller.Config, sign Signer, certificate string) *TokensController {
	c := &TokensController{sign: sign, certificate: newCertificate(certificate)}
	c.Loop = controller.NewLoop(config, "service account token controller", c.sync)
	c.secrets = controller.Own(c.Loop, cache.Select(config.Client.Secrets().Everywhere(), "", "type="+string(corev1.SecretTypeServiceAccountToken)), 0)
	c.secrets.Store().AddIndex(ofAccount, func(secret *corev1.Secret) []string {
		return []string{cache.KeyOf(secret.Namespace, accountOf(secret))}
	})
	c.accounts = controller.Own(c.Loop, config.Client.Metadata(corev1.SchemeGroupVersion.WithResource("serviceaccounts")), 0)
	add := func(secret *corev1.Secret) { c.Queue.Add(cache.Key(secret) + "/" + accountOf(secret)) }
	addAll := func(account *metav1.PartialObjectMetadata) {
		for _, secret := range c.secrets.Store().ByIndex(ofAccount, cache.Key(account)) {
			add(secret)
		}
	}
	controller.Handle(c.Loop, c.secrets, cache.OnAny(add))
	controller.Handle(c.Loop, c.accounts, cache.ResourceEventHandler[*metav1.PartialObjectMetadata]{OnDelete: addAll})
	return c
}

func accountOf(secret *corev1.Secret) string { return secret.Annotations[corev1.ServiceAccountNameKey] }

// sync fills or deletes a secret. If that is gone, the account does not name it any more. Who changes an object meanwhile
// causes another sync.
func (c *TokensController) sync(ctx context.Context, key string) error {
	parts := strings.SplitN(key, "/", 3) // the name of the account may have more slashes, as nobody has checked it
	namespace, name, account := parts[0], parts[1], parts[2]
	secret, exists := c.secrets.Store().Get(cache.KeyOf(namespace, name))
	var err error
	if exists {
		err = c.keep(ctx, secret)
	} else {
		c.certificate.forget(cache.KeyOf(namespace, name))
		err = c.forget(ctx, namespace, name, account)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// keep fills a secret, or deletes it if its account is gone.
func (c *TokensController) keep(ctx context.Context, secret *corev1.Secret) error {
	in, name, uid := c.Client.In(secret.Namespace), accountOf(secret), types.UID(secret.Annotations[corev1.ServiceAccountUIDKey])
	var account *corev1.ServiceAccount
	err := error(apierrors.NewNotFound(corev1.Resource("serviceaccounts"), name))
	if len(apivalidation.ValidateServiceAccountName(name, false)) == 0 {
		account, err = in.ServiceAccounts().Get(ctx, name)
	}
	switch {
	case apierrors.IsNotFound(err), err == nil && cmp.Or(uid, account.UID) != account.UID:
		return in.Secrets().Delete(ctx, secret.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &secret.UID}})
	case err != nil:
		return err
	}
	filled := secret.DeepCopy()
	if filled.Data == nil {
		filled.Data = map[string][]byte{}
	}
	hasAll := true
	set := func(key, value string) {
		hasAll = false
		filled.Data[key] = []byte(value)
	}
	has := string(filled.Data[corev1.ServiceAccountRootCAKey])
	c.certificate.note(cache.Key(secret), has)
	if c.certificate.text != "" && c.certificate.replaces(cache.Key(secret), has) {
		set(corev1.ServiceAccountRootCAKey, c.certificate.text)
	}
	if len(filled.Data[corev1.ServiceAccountNamespaceKey]) == 0 {
		set(corev1.ServiceAccountNamespaceKey, secret.Namespace)
	}
	if len(filled.Data[corev1.ServiceAccountTokenKey]) == 0 {
		token, err := c.sign(secret.Namespace, name, account.UID, secret.Name)
		if err != nil {
			return err
		}
		set(corev1.ServiceAccountTokenKey, token)
	}
	if hasAll || secret.Immutable != nil && *secret.Immutable {
		return nil
	}
	filled.Annotations[corev1.ServiceAccountUIDKey] = string(account.UID)
	if _, err = in.Secrets().Update(ctx, filled); err == nil {
		c.certificate.note(cache.Key(secret), string(filled.Data[corev1.ServiceAccountRootCAKey]))
	}
	return err
}

// forget removes a secret that is gone from those of its account.
func (c *TokensController) forget(ctx context.Context, namespace, name, of string) error {
	if _, exists := c.accounts.Store().Get(cache.KeyOf(namespace, of)); !exists {
		return nil
	}
	isIt := func(secret corev1.ObjectReference) bool { return secret.Name == name }
	accounts := c.Client.In(namespace).ServiceAccounts()
	account, err := accounts.Get(ctx, of)
	if err != nil || !slices.ContainsFunc(account.Secrets, isIt) {
		return err
	}
	_, err = accounts.Change(ctx, of, func(account *corev1.ServiceAccount) error {
		account.Secrets = slices.DeleteFunc(account.Secrets, isIt)
		return nil
	})
	return err
}
