package printers

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// RoleBindings prints *rbacv1.RoleBinding, ClusterRoleBindings *rbacv1.ClusterRoleBinding. Roles need no printer.
var (
	RoleBindings        = bindings[rbacv1.RoleBinding]("roleBinding", rbacv1.RoleBinding{}.SwaggerDoc())
	ClusterRoleBindings = bindings[rbacv1.ClusterRoleBinding]("clusterRoleBinding", rbacv1.ClusterRoleBinding{}.SwaggerDoc())
)

func bindings[T any](kind string, doc map[string]string) Printer {
	subjects := func(title, of string) column {
		return wide(with(text(title, "subjects", title+" in the "+kind), func(subjects []rbacv1.Subject) string {
			var names []string
			for _, subject := range subjects {
				if subject.Kind != of {
					continue
				}
				name := subject.Name
				if of == rbacv1.ServiceAccountKind {
					name = subject.Namespace + "/" + name
				}
				names = append(names, name)
			}
			return strings.Join(names, ", ")
		}))
	}
	role := strings.TrimSuffix(doc["roleRef"], " This field is immutable.") // today's server describes it as older versions of the group do
	return table[T](name, with(text("Role", "roleRef", role), func(role rbacv1.RoleRef) string { return role.Kind + "/" + role.Name }), age,
		subjects("Users", rbacv1.UserKind), subjects("Groups", rbacv1.GroupKind), subjects("ServiceAccounts", rbacv1.ServiceAccountKind))
}

// These print the kinds of *admissionregistrationv1 of their names.
var (
	MutatingWebhooks   = table[admissionregistrationv1.MutatingWebhookConfiguration](name, webhooks, age)
	ValidatingWebhooks = table[admissionregistrationv1.ValidatingWebhookConfiguration](name, webhooks, age)

	ValidatingPolicies = table[admissionregistrationv1.ValidatingAdmissionPolicy](name,
		count(number("Validations", "spec.validations", "Validations indicates the number of validation rules defined in this configuration")), paramKind, age)
	MutatingPolicies = table[admissionregistrationv1.MutatingAdmissionPolicy](name,
		count(number("Mutations", "spec.mutations", "Mutation indicates the number of mutations rules defined in this configuration")), paramKind, age)

	ValidatingPolicyBindings = table[admissionregistrationv1.ValidatingAdmissionPolicyBinding](name, policyName, paramRef, age)
	MutatingPolicyBindings   = table[admissionregistrationv1.MutatingAdmissionPolicyBinding](name, policyName, paramRef, age)
)

var (
	webhooks = count(number("Webhooks", "webhooks", "Webhooks indicates the number of webhooks registered in this configuration"))

	paramKind = with(text("ParamKind", "spec.paramKind", "ParamKind specifies the kind of resources used to parameterize this policy").or("<unset>"),
		func(kind *admissionregistrationv1.ParamKind) string { return kind.APIVersion + "/" + kind.Kind })

	policyName = text("PolicyName", "spec.policyName", "PolicyName indicates the policy definition which the policy binding binded to")
	paramRef   = with(text("ParamRef", "spec.paramRef", "ParamRef indicates the param resource which sets the configuration param"),
		func(ref *admissionregistrationv1.ParamRef) string {
			switch {
			case ref == nil || ref.Name == "" && ref.Selector == nil:
				return "<unset>"
			case ref.Name == "":
				return ref.Selector.String()
			}
			return cmp.Or(ref.Namespace, "*") + "/" + ref.Name // of a cluster-scoped kind too
		})
)

// APIServices prints *apiregistrationv1.APIService.
var APIServices = table[apiregistrationv1.APIService](name,
	with(text("Service", "", "The reference to the service that hosts this API endpoint."), func(s *apiregistrationv1.APIService) string {
		if s.Spec.Service == nil {
			return "Local"
		}
		return s.Spec.Service.Namespace + "/" + s.Spec.Service.Name
	}),
	with(text("Available", "", "Whether this service is available."), func(s *apiregistrationv1.APIService) string {
		for _, condition := range s.Status.Conditions {
			switch {
			case condition.Type != apiregistrationv1.Available:
			case condition.Status != apiregistrationv1.ConditionTrue && condition.Reason != "":
				return fmt.Sprintf("%s (%s)", condition.Status, condition.Reason)
			default:
				return string(condition.Status)
			}
		}
		return string(apiregistrationv1.ConditionUnknown)
	}), age)

var requestDoc = certificatesv1beta1.CertificateSigningRequestSpec{}.SwaggerDoc()

// CertificateRequests prints *certificatesv1.CertificateSigningRequest. As on today's server, its columns are described by an
// older version.
var CertificateRequests = table[certificatesv1.CertificateSigningRequest](name, age,
	text("SignerName", "spec.signerName", requestDoc["signerName"]).or("<none>"),
	text("Requestor", "spec.username", requestDoc["request"]),
	with(text("RequestedDuration", "spec.expirationSeconds", requestDoc["expirationSeconds"]).or("<none>"), func(seconds int32) string {
		return duration.HumanDuration(time.Duration(seconds) * time.Second)
	}),
	with(text("Condition", "status", certificatesv1beta1.CertificateSigningRequestStatus{}.SwaggerDoc()["conditions"]), decision))

// decision returns what became of a request. Denied prevails.
func decision(status *certificatesv1.CertificateSigningRequestStatus) string {
	is := map[certificatesv1.RequestConditionType]bool{}
	for _, condition := range status.Conditions {
		is[condition.Type] = true
	}
	text := "Pending"
	switch {
	case is[certificatesv1.CertificateDenied]:
		text = "Denied"
	case is[certificatesv1.CertificateApproved]:
		text = "Approved"
	}
	if is[certificatesv1.CertificateFailed] {
		text += ",Failed"
	}
	if len(status.Certificate) > 0 {
		text += ",Issued"
	}
	return text
}

// FlowSchemas prints *flowcontrolv1.FlowSchema.
var FlowSchemas = table[flowcontrolv1.FlowSchema](name, text("PriorityLevel", "spec.priorityLevelConfiguration.name"), text("MatchingPrecedence", "spec.matchingPrecedence"),
	with(text("DistinguisherMethod", "spec.distinguisherMethod").or("<none>"), func(method *flowcontrolv1.FlowDistinguisherMethod) string {
		return string(method.Type)
	}), age,
	with(text("MissingPL", "status.conditions", "references a broken or non-existent PriorityLevelConfiguration"), func(conditions []flowcontrolv1.FlowSchemaCondition) string {
		for _, condition := range conditions {
			if condition.Type == flowcontrolv1.FlowSchemaConditionDangling {
				return string(condition.Status)
			}
		}
		return "?"
	}))

const queuing = "spec.limited.limitResponse.queuing."

// PriorityLevels prints *flowcontrolv1.PriorityLevelConfiguration.
var PriorityLevels = table[flowcontrolv1.PriorityLevelConfiguration](name, text("Type", "spec.type"),
	text("NominalConcurrencyShares", "spec.limited.nominalConcurrencyShares").or("<none>"), text("Queues", queuing+"queues").or("<none>"),
	text("HandSize", queuing+"handSize").or("<none>"), text("QueueLengthLimit", queuing+"queueLengthLimit").or("<none>"), age)
