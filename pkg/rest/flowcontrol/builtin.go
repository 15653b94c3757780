package flowcontrol

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/user"
)

// exempt and catchAll name the mandatory objects of both kinds.
const exempt, catchAll = "exempt", "catch-all"

// isMandatory reports whether clients may not change a built-in object.
func isMandatory(name string) bool { return name == exempt || name == catchAll }

// builtInLevels returns new objects: those of kube-apiserver 1.36.
func builtInLevels() []*flowcontrolv1.PriorityLevelConfiguration {
	return []*flowcontrolv1.PriorityLevelConfiguration{
		level(exempt, flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementExempt, Exempt: &flowcontrolv1.ExemptPriorityLevelConfiguration{}}),
		limited(catchAll, 5, 0, nil),
		limited("system", 30, 33, queues(64, 6)),
		limited("node-high", 40, 25, queues(64, 6)),
		limited("leader-election", 10, 0, queues(16, 4)),
		limited("workload-high", 40, 50, queues(128, 6)),
		limited("workload-low", 100, 90, queues(128, 6)),
		limited("global-default", 20, 50, queues(128, 6)),
	}
}

func queues(number, hand int32) *flowcontrolv1.QueuingConfiguration {
	return &flowcontrolv1.QueuingConfiguration{Queues: number, HandSize: hand, QueueLengthLimit: 50}
}

// limited returns a level with a share of the requests at a time. Without queues it rejects those above it.
func limited(name string, shares, lendable int32, queues *flowcontrolv1.QueuingConfiguration) *flowcontrolv1.PriorityLevelConfiguration {
	response := flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject, Queuing: queues}
	if queues != nil {
		response.Type = flowcontrolv1.LimitResponseTypeQueue
	}
	return level(name, flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementLimited, Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
		NominalConcurrencyShares: &shares, LendablePercent: &lendable, LimitResponse: response}})
}

func level(name string, spec flowcontrolv1.PriorityLevelConfigurationSpec) *flowcontrolv1.PriorityLevelConfiguration {
	built := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metadata(name), Spec: spec}
	defaultLevel(built)
	return built
}

func metadata(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Annotations: map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"}}
}

// builtInFlows returns new objects: those of kube-apiserver 1.36.
func builtInFlows() []*flowcontrolv1.FlowSchema {
	const byUser, byNamespace, byNothing = flowcontrolv1.FlowDistinguisherMethodByUserType, flowcontrolv1.FlowDistinguisherMethodByNamespaceType, ""
	everybody := groups(user.AllUnauthenticated, user.AllAuthenticated)
	systemAccounts := flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount, ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: "kube-system", Name: "*"}}
	leases := []string{"coordination.k8s.io"}
	return []*flowcontrolv1.FlowSchema{
		flow(exempt, exempt, 1, byNothing, everything(groups(user.Masters)...)),
		flow(catchAll, catchAll, 10000, byUser, everything(everybody...)),
		flow("system-nodes", "system", 500, byUser, everything(groups("system:nodes")...)),
		flow("system-node-high", "node-high", 400, byUser, flowcontrolv1.PolicyRulesWithSubjects{Subjects: groups("system:nodes"), ResourceRules: []flowcontrolv1.ResourcePolicyRule{
			{Verbs: star(), APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, Namespaces: star(), ClusterScope: true},
			{Verbs: star(), APIGroups: leases, Resources: []string{"leases"}, Namespaces: star()}}}),
		flow("probes", exempt, 2, byNothing, flowcontrolv1.PolicyRulesWithSubjects{Subjects: everybody, NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{
			{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz", "/readyz", "/livez"}}}}),
		flow("system-leader-election", "leader-election", 100, byUser, flowcontrolv1.PolicyRulesWithSubjects{
			Subjects: append(users("system:kube-controller-manager", "system:kube-scheduler"), systemAccounts),
			ResourceRules: []flowcontrolv1.ResourcePolicyRule{
				{Verbs: []string{"get", "create", "update"}, APIGroups: leases, Resources: []string{"leases"}, Namespaces: star()}}}),
		flow("kube-controller-manager", "workload-high", 800, byNamespace, everything(users("system:kube-controller-manager")...)),
		flow("kube-scheduler", "workload-high", 800, byNamespace, everything(users("system:kube-scheduler")...)),
		flow("kube-system-service-accounts", "workload-high", 900, byNamespace, everything(systemAccounts)),
		flow("service-accounts", "workload-low", 9000, byUser, everything(groups(user.AllServiceAccounts)...)),
		flow("global-default", "global-default", 9900, byUser, everything(everybody...)),
	}
}

// flow returns a schema whose requests are on a level. They may be distinguished by something, "" for nothing.
func flow(name, level string, precedence int32, by flowcontrolv1.FlowDistinguisherMethodType, rule flowcontrolv1.PolicyRulesWithSubjects) *flowcontrolv1.FlowSchema {
	spec := flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: precedence, Rules: []flowcontrolv1.PolicyRulesWithSubjects{rule},
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level}}
	if by != "" {
		spec.DistinguisherMethod = &flowcontrolv1.FlowDistinguisherMethod{Type: by}
	}
	return &flowcontrolv1.FlowSchema{ObjectMeta: metadata(name), Spec: spec}
}

func star() []string { return []string{"*"} }

// everything returns the rule for all requests of some subjects.
func everything(by ...flowcontrolv1.Subject) flowcontrolv1.PolicyRulesWithSubjects {
	return flowcontrolv1.PolicyRulesWithSubjects{
		Subjects:         by,
		ResourceRules:    []flowcontrolv1.ResourcePolicyRule{{Verbs: star(), APIGroups: star(), Resources: star(), Namespaces: star(), ClusterScope: true}},
		NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: star(), NonResourceURLs: star()}},
	}
}

func groups(names ...string) (all []flowcontrolv1.Subject) {
	for _, name := range names {
		all = append(all, flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: name}})
	}
	return all
}

func users(names ...string) (all []flowcontrolv1.Subject) {
	for _, name := range names {
		all = append(all, flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: name}})
	}
	return all
}
