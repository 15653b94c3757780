package clusterroleaggregation

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/master/servertest"
)

// bench is a server with two controllers in a synctest bubble.
type bench struct {
	t      *testing.T
	roles  clientv1.Resource[*rbacv1.ClusterRole]
	writes *atomic.Int32
}

func inBubble(t *testing.T, test func(b bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, writes := servertest.Start(t), &atomic.Int32{}
		server.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.UserAgent() == "controller" && req.Method != http.MethodGet {
				writes.Add(1)
			}
			next.ServeHTTP(w, req)
		})
		for range 2 {
			c := NewClusterRoleAggregationController(controller.Config{Client: server.Client(t, "controller")})
			servertest.Run(t, func(ctx context.Context) { c.Run(ctx, 2) })
		}
		test(bench{t, server.Client(t, "test").ClusterRoles(), writes})
	})
}

// settle waits until the controllers have nothing to do.
func (b bench) settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// create creates a role that may read some resources, with labels, and selectors of a label each.
func (b bench) create(name string, resources, labels []string, selectors ...string) {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, resource := range resources {
		role.Rules = append(role.Rules, reads(resource))
	}
	for _, label := range labels {
		role.Labels[label] = "true"
	}
	for _, selector := range selectors {
		if role.AggregationRule == nil {
			role.AggregationRule = &rbacv1.AggregationRule{}
		}
		role.AggregationRule.ClusterRoleSelectors = append(role.AggregationRule.ClusterRoleSelectors, metav1.LabelSelector{MatchLabels: map[string]string{selector: "true"}})
	}
	_, err := b.roles.Create(b.t.Context(), role)
	require.NoError(b.t, err)
}

func reads(resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{resource}}
}

// has checks which resources a role may read.
func (b bench) has(name string, resources ...string) {
	b.t.Helper()
	role, err := b.roles.Get(b.t.Context(), name)
	require.NoError(b.t, err)
	var has []string
	for _, rule := range role.Rules {
		has = append(has, rule.Resources...)
	}
	assert.Equal(b.t, resources, has, name)
}

func TestAnAggregatedRoleHasTheRulesOfTheSelectedOnesInOrderAndOnce(t *testing.T) {
	inBubble(t, func(b bench) {
		b.create("admin", []string{"own"}, nil, "x", "y")
		b.create("edit", nil, []string{"y"}, "z")
		b.create("3", []string{"pods", "nodes"}, []string{"x"})
		b.create("2", []string{"nodes", "events"}, []string{"x", "y"})
		b.create("1", []string{"secrets"}, []string{"y"})
		b.create("4", []string{"endpoints"}, []string{"z"})
		b.create("other", []string{"services"}, []string{"other"})
		b.settle()
		b.has("admin", "nodes", "events", "pods", "secrets", "endpoints")
		b.has("edit", "endpoints")
		b.has("other", "services")
	})
}

func TestAnAggregatedRoleFollowsTheOthers(t *testing.T) {
	inBubble(t, func(b bench) {
		change := func(name string, change func(*rbacv1.ClusterRole)) {
			_, err := b.roles.Change(b.t.Context(), name, func(role *rbacv1.ClusterRole) error { change(role); return nil })
			require.NoError(b.t, err)
			b.settle()
		}
		b.create("all", nil, []string{"x"}, "x") // also itself, which means nothing
		b.create("1", []string{"pods"}, []string{"x"})
		b.create("2", []string{"nodes"}, []string{"x"})
		b.settle()
		b.has("all", "pods", "nodes")
		change("1", func(role *rbacv1.ClusterRole) { role.Rules = []rbacv1.PolicyRule{reads("secrets")} })
		b.has("all", "secrets", "nodes")
		change("1", func(role *rbacv1.ClusterRole) { role.Labels = nil })
		b.has("all", "nodes")
		change("all", func(role *rbacv1.ClusterRole) { role.Rules = append(role.Rules, reads("own")) })
		b.has("all", "nodes")
		require.NoError(b.t, b.roles.Delete(b.t.Context(), "2", metav1.DeleteOptions{}))
		b.settle()
		b.has("all")
		change("all", func(role *rbacv1.ClusterRole) {
			role.AggregationRule, role.Rules = nil, []rbacv1.PolicyRule{reads("own")}
		})
		b.has("all", "own")
	})
}

func TestNothingIsWrittenThatIsAsItMustBe(t *testing.T) {
	inBubble(t, func(b bench) {
		b.create("none", nil, nil, "x")
		b.create("some", nil, nil, "y")
		b.settle()
		assert.Zero(b.t, b.writes.Load())
		b.create("1", []string{"pods"}, []string{"y"})
		b.settle()
		written := b.writes.Load()
		assert.NotZero(b.t, written)
		b.create("2", []string{"pods"}, []string{"y"})
		b.settle()
		assert.Equal(b.t, written, b.writes.Load(), "it has the rule")
		b.has("some", "pods")
	})
}
