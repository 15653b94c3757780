package etcdtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachKindOfMemberIsReadyWhenItsStartReturns(t *testing.T) {
	t.Parallel()
	certificates := MakeTLS(t)
	for _, version := range Versions() {
		for name, setup := range map[string]Setup{
			"with all":                     {},
			"without the v2 API":           {NoV2: true},
			"over TLS, clients as well":    {TLS: certificates, ClientCerts: true},
			"three members, with TLS only": {Members: 3, TLS: certificates, NoV2: true},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				setup.Version = version
				servers, err := setup.Start(t.TempDir())
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, stopAll(servers)) })
				server := servers[0]
				require.NoError(t, server.AddUser("someone", "password", "/registry/"))
				require.NoError(t, server.EnableAuth("secret"))
				assert.ErrorContains(t, server.AddUser("other", "password", "/registry/"), "etcd answered 400", "only root may do that now")
				require.NoError(t, server.Kill())
				require.NoError(t, server.Restart())
				assert.NoError(t, server.Ready())
			})
		}
	}
}

func TestPrefixesOfTestsDoNotBeginWithEachOther(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		prefix := ownPrefix()
		assert.Len(t, prefix, len("/test-000001"))
		assert.False(t, seen[prefix])
		seen[prefix] = true
	}
}
