package rbac

import authorizer "kube2014/pkg/auth/authorizer/rbac"

// escalation returns a check by the rights that users have by a policy.
func escalation(policy *Policy) *Escalation {
	rights := authorizer.New(policy)
	return &Escalation{Authorizer: rights, CheckGrant: rights.CheckGrant}
}
