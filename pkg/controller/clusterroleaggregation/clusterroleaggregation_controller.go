// Package clusterroleaggregation gives cluster roles with an aggregation rule the rules of the roles that it selects, as
// a client of the API.
package clusterroleaggregation

import (
	"cmp"
	"context"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

// pause is the pause after a change, since a server that starts makes many roles, and after a conflict.
const pause = 10 * time.Millisecond

// ClusterRoleAggregationController keeps the rules of aggregated cluster roles. Its work can be interrupted at any moment
// and repeated, also by several controllers at once.
type ClusterRoleAggregationController struct {
	*controller.Loop // over the names of aggregated roles
	roles            *cache.SharedInformer[*rbacv1.ClusterRole]
}

// NewClusterRoleAggregationController returns a controller.
func NewClusterRoleAggregationController(config controller.Config) *ClusterRoleAggregationController {
	c := &ClusterRoleAggregationController{}
	c.Loop = controller.NewLoop(config, "cluster role aggregation controller", c.sync)
	c.roles = controller.Own(c.Loop, config.Client.ClusterRoles(), 0)
	controller.Handle(c.Loop, c.roles, cache.OnAny(c.addAll))
	return c
}

// addAll adds all aggregated roles after a change of any one: there are few, and a rule may select what has just lost
// its label.
func (c *ClusterRoleAggregationController) addAll(*rbacv1.ClusterRole) {
	for _, role := range c.roles.Store().List() {
		if role.AggregationRule != nil {
			c.Queue.AddAfter(role.Name, pause)
		}
	}
}

func (c *ClusterRoleAggregationController) sync(ctx context.Context, name string) error {
	role, exists := c.roles.Store().Get(name)
	if !exists || role.AggregationRule == nil {
		return nil
	}
	rules, err := aggregated(role, c.roles.Store().List())
	if err != nil || slices.EqualFunc(rules, role.Rules, same) {
		return err
	}
	role = role.DeepCopy()
	role.Rules = rules
	_, err = c.Client.ClusterRoles().Update(ctx, role)
	return c.Outrun(name, pause, err)
}

// aggregated returns the rules that a role must have: those of the selected ones, by selector and name, each rule once.
func aggregated(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) (rules []rbacv1.PolicyRule, err error) {
	slices.SortFunc(all, func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			if other.Name == role.Name || !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			for _, rule := range other.Rules {
				if !slices.ContainsFunc(rules, func(known rbacv1.PolicyRule) bool { return same(known, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}

// same reports whether two rules are equal. An empty list is like none.
func same(a, b rbacv1.PolicyRule) bool {
	return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) && slices.Equal(a.Resources, b.Resources) &&
		slices.Equal(a.ResourceNames, b.ResourceNames) && slices.Equal(a.NonResourceURLs, b.NonResourceURLs)
}
