package main

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
)

// In place of our controllers, and beside them, today's let kubectl print the same, and end what has to end.
func TestKubectlPrintsTheSameWithTodaysControllers(t *testing.T) {
	if os.Getenv("KUBE2014_CONTROLLERS") == "" {
		t.Skip("make parts runs it")
	}
	t.Parallel()
	kubectl, sessions := kubectlPath(t), todaysSessions(t, "kubectl-2.json")
	for where, own := range map[string][]string{"beside": nil, "in place": {"-controllers=", "-enable_admission_plugins", "ServiceAccount"}} {
		for name, store := range flagsFor {
			for _, session := range sessions {
				t.Run(session.Name+" "+where+" backend="+name, func(t *testing.T) {
					t.Parallel()
					f := filesOf(t)
					flags, authority := f.secureFlags()
					ca, caKey := f.pair("ca", authority)
					signing := f.signingFlags()
					addresses, known := addressesOn(name, session)
					flags = slices.Concat(flags, store(t), own, addresses, signing, []string{"-scheduler", "none", "-authorization_mode", "RBAC",
						"-token_auth_file", f.write("tokens", "admin-token,admin,1,system:masters\n")})
					_, _, address, url := secureProgram(t, unhurried, flags...)
					kubeconfig := kubeconfigFor(t, url, authority, "admin-token")
					startTodaysControllers(t, f.write("kubeconfig", kubeconfig), signing[1], ca, caKey)
					steps, err := session.RunAs(t.Context(), t.TempDir(), kubectl, kubeconfig)
					require.NoError(t, err)
					assert.Len(t, steps, len(session.Answers))
					noneDiffers(t, steps, known)
					endsWhatHasToEnd(t, clientv1.New(address))
				})
			}
		}
	}
}

// endsWhatHasToEnd makes a namespace with an account, an owner and a dependent, and deletes them.
func endsWhatHasToEnd(t *testing.T, client *clientv1.Client) {
	_, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ends"}})
	require.NoError(t, err)
	in := client.In("ends")
	eventually(t, func() bool {
		_, accountErr := in.ServiceAccounts().Get(t.Context(), "default")
		_, configErr := in.ConfigMaps().Get(t.Context(), "kube-root-ca.crt")
		return accountErr == nil && configErr == nil
	}, "the namespace has an account and the certificate")
	owner, err := in.ConfigMaps().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}})
	require.NoError(t, err)
	reference := *metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	_, err = in.ConfigMaps().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dependent", OwnerReferences: []metav1.OwnerReference{reference}}})
	require.NoError(t, err)
	foreground := metav1.DeletePropagationForeground
	require.NoError(t, in.ConfigMaps().Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &foreground}))
	eventually(t, func() bool {
		_, ownerErr := in.ConfigMaps().Get(t.Context(), "owner")
		_, err := in.ConfigMaps().Get(t.Context(), "dependent")
		return apierrors.IsNotFound(ownerErr) && apierrors.IsNotFound(err)
	}, "the dependent goes with its owner")
	require.NoError(t, client.Namespaces().Delete(t.Context(), "ends", metav1.DeleteOptions{}))
	eventually(t, func() bool {
		_, err := client.Namespaces().Get(t.Context(), "ends")
		return apierrors.IsNotFound(err)
	}, "the namespace is gone")
}
