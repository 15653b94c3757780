package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheLinesThatAreNotTheSameAreTold(t *testing.T) {
	t.Parallel()
	assert.Empty(t, differences([]byte("a\nb\n"), []byte("a\nb\n")))
	assert.Equal(t, "line 2\n- b\n+ c\nline 3\n- \n+ d\n", string(differences([]byte("a\nb"), []byte("a\nc\nd"))))
}

func TestAnObjectIsSentToItsCollection(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		`{"kind": "ClusterRole", "metadata": {"name": "x"}}`:                   "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		`{"kind": "RoleBinding", "metadata": {"name": "x", "namespace": "a"}}`: "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings",
	} {
		path, err := collectionOf([]byte(object))
		require.NoError(t, err)
		assert.Equal(t, want, path)
	}
	for _, bad := range []string{`{"kind": "Pod"}`, `[]`} {
		_, err := collectionOf([]byte(bad))
		assert.Error(t, err, bad)
	}
	for _, object := range canaries {
		_, err := collectionOf(object)
		assert.NoError(t, err)
	}
}
