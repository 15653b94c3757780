// Package webhooks has the defaults and the rules of the webhooks of admission, whether they are in an object or in a file.
// Those of both kinds are described as mutating ones.
package webhooks

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"kube2014/pkg/api/v1/validation/check"
)

// MaxTimeout is the most time that a webhook may take, in seconds.
const MaxTimeout = 30

const maxConditions = 64

// ReviewVersions are the versions of AdmissionReview that the server knows, the preferred one first.
var ReviewVersions = []string{"v1", "v1beta1"}

// OfValidating returns webhooks that check as mutating ones. They share everything that pointers and slices lead to.
func OfValidating(hooks []admissionregistrationv1.ValidatingWebhook) []admissionregistrationv1.MutatingWebhook {
	all := make([]admissionregistrationv1.MutatingWebhook, len(hooks))
	for i, w := range hooks {
		all[i] = admissionregistrationv1.MutatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}
	}
	return all
}

// Default sets the missing fields of a webhook.
func Default(w *admissionregistrationv1.MutatingWebhook) {
	w.FailurePolicy = cmp.Or(w.FailurePolicy, new(admissionregistrationv1.Fail))
	w.MatchPolicy = cmp.Or(w.MatchPolicy, new(admissionregistrationv1.Equivalent))
	w.NamespaceSelector = cmp.Or(w.NamespaceSelector, &metav1.LabelSelector{})
	w.ObjectSelector = cmp.Or(w.ObjectSelector, &metav1.LabelSelector{})
	w.TimeoutSeconds = cmp.Or(w.TimeoutSeconds, new(int32(10)))
	w.ReinvocationPolicy = cmp.Or(w.ReinvocationPolicy, new(admissionregistrationv1.NeverReinvocationPolicy))
	for i := range w.Rules {
		w.Rules[i].Scope = cmp.Or(w.Rules[i].Scope, new(admissionregistrationv1.AllScopes))
	}
	if service := w.ClientConfig.Service; service != nil {
		service.Port = cmp.Or(service.Port, new(int32(443)))
	}
}

// Check checks the webhooks of one configuration, which have their defaults.
func Check(c *check.Errors, at *field.Path, hooks []admissionregistrationv1.MutatingWebhook) {
	names := check.Unique{}
	for i := range hooks {
		w, at := &hooks[i], at.Index(i)
		c.Add(utilvalidation.IsFullyQualifiedName(at.Child("name"), w.Name)...)
		for i := range w.Rules {
			CheckRule(c, at.Child("rules").Index(i), &w.Rules[i])
		}
		checkPolicies(c, at, w)
		checkClient(c, at.Child("clientConfig"), &w.ClientConfig)
		CheckConditions(c, at.Child("matchConditions"), w.MatchConditions, func(expression string) plugincel.CompilationResult {
			return Compiler().CompileCELExpression(&matchconditions.MatchCondition{Expression: expression}, Variables, environment.NewExpressions)
		})
		checkVersions(c, at.Child("admissionReviewVersions"), w.AdmissionReviewVersions)
		if w.Name != "" {
			names.Check(c, at.Child("name"), w.Name)
		}
	}
}

func checkPolicies(c *check.Errors, at *field.Path, w *admissionregistrationv1.MutatingWebhook) {
	check.IfSupported(c, at.Child("failurePolicy"), w.FailurePolicy, admissionregistrationv1.Fail, admissionregistrationv1.Ignore)
	check.IfSupported(c, at.Child("matchPolicy"), w.MatchPolicy, admissionregistrationv1.Equivalent, admissionregistrationv1.Exact)
	const none, onDryRun = admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun
	c.RequiredIf(w.SideEffects == nil, at.Child("sideEffects"), fmt.Sprintf("must specify one of %s, %s", none, onDryRun))
	check.IfSupported(c, at.Child("sideEffects"), w.SideEffects, none, onDryRun)
	if seconds := w.TimeoutSeconds; seconds != nil {
		c.InvalidIf(*seconds < 1 || *seconds > MaxTimeout, at.Child("timeoutSeconds"), *seconds, fmt.Sprintf("the timeout value must be between 1 and %d seconds", MaxTimeout))
	}
	c.Selector(at.Child("namespaceSelector"), w.NamespaceSelector)
	c.Selector(at.Child("objectSelector"), w.ObjectSelector)
	check.IfSupported(c, at.Child("reinvocationPolicy"), w.ReinvocationPolicy, admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
}

// CheckRule checks which requests a rule is about.
func CheckRule(c *check.Errors, at *field.Path, rule *admissionregistrationv1.RuleWithOperations) {
	checkList(c, at.Child("operations"), rule.Operations, "operations")
	for i, operation := range rule.Operations {
		check.Supported(c, at.Child("operations").Index(i), operation, admissionregistrationv1.OperationAll, admissionregistrationv1.Connect,
			admissionregistrationv1.Create, admissionregistrationv1.Delete, admissionregistrationv1.Update)
	}
	checkList(c, at.Child("apiGroups"), rule.APIGroups, "API groups")
	checkList(c, at.Child("apiVersions"), rule.APIVersions, "API versions")
	for i, version := range rule.APIVersions {
		c.Require(at.Child("apiVersions").Index(i), version)
	}
	checkResources(c, at.Child("resources"), rule.Resources)
	check.IfSupported(c, at.Child("scope"), rule.Scope, admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope)
}

// checkList checks a list in which "*" stands for all.
func checkList[T ~string](c *check.Errors, at *field.Path, list []T, others string) {
	c.Some(at, len(list), "")
	c.InvalidIf(len(list) > 1 && slices.Contains(list, "*"), at, list, "if '*' is present, must not specify other "+others)
}

// checkResources refuses entries that another entry includes.
func checkResources(c *check.Errors, at *field.Path, resources []string) {
	c.Some(at, len(resources), "")
	plain := false // as in today's server, what the last entry without a subresource is
	for i, entry := range resources {
		resource, sub, isSub := strings.Cut(entry, "/")
		if !c.Require(at.Index(i), entry) {
			continue
		}
		if !isSub {
			plain = entry != "*"
			continue
		}
		for _, wide := range []string{resource + "/*", "*/" + sub} {
			c.InvalidIf(slices.Contains(resources[:i], wide), at.Index(i), entry, fmt.Sprintf("if '%s' is present, must not specify %s", wide, entry))
		}
	}
	c.InvalidIf(len(resources) > 1 && slices.Contains(resources, "*/*"), at, resources, "if '*/*' is present, must not specify other resources")
	c.InvalidIf(plain && slices.Contains(resources, "*"), at, resources, "if '*' is present, must not specify other resources without subresources")
}

func checkVersions(c *check.Errors, at *field.Path, versions []string) {
	known := strings.Join(ReviewVersions, ", ")
	c.Some(at, len(versions), "must specify one of "+known)
	for i, version := range versions {
		if slices.Contains(versions[:i], version) {
			c.Add(field.Invalid(at.Index(i), version, "duplicate version"))
			continue
		}
		c.Each(at.Index(i), version, utilvalidation.IsDNS1035Label(version))
	}
	isKnown := slices.ContainsFunc(versions, func(version string) bool { return slices.Contains(ReviewVersions, version) })
	c.InvalidIf(len(versions) > 0 && !isKnown, at, versions, "must include at least one of "+known)
}

func checkClient(c *check.Errors, at *field.Path, config *admissionregistrationv1.WebhookClientConfig) {
	switch {
	case (config.URL == nil) == (config.Service == nil):
		c.Add(field.Required(at, "exactly one of url or service is required"))
	case config.URL != nil:
		checkURL(c, at.Child("url"), *config.URL)
	default:
		checkService(c, at.Child("service"), config.Service)
	}
}

func checkURL(c *check.Errors, at *field.Path, text string) {
	const form = "; desired format: https://host[/path]"
	target, err := url.Parse(text)
	if err != nil {
		c.Add(field.Required(at, "url must be a valid URL: "+err.Error()+form))
		return
	}
	c.InvalidIf(target.Scheme != "https", at, target.Scheme, "'https' is the only allowed URL scheme"+form)
	c.InvalidIf(target.Host == "", at, target.Host, "host must be specified"+form)
	c.InvalidIf(target.User != nil, at, target.User.String(), "user information is not permitted in the URL")
	c.InvalidIf(target.Fragment != "", at, target.Fragment, "fragments are not permitted in the URL")
	c.InvalidIf(target.RawQuery != "", at, target.RawQuery, "query parameters are not permitted in the URL")
}

func checkService(c *check.Errors, at *field.Path, service *admissionregistrationv1.ServiceReference) {
	c.Needs(at, "name", service.Namespace, "namespace", service.Name) // as in today's server, which takes one for the other
	if port := service.Port; port != nil {
		for _, message := range utilvalidation.IsValidPortNum(int(*port)) {
			c.Add(field.Invalid(at.Child("port"), *port, "port is not valid: "+message))
		}
	}
	if service.Path == nil || *service.Path == "" || *service.Path == "/" {
		return
	}
	path, at := *service.Path, at.Child("path")
	if path == "//" {
		c.Add(field.Invalid(at, path, "segment[0] may not be empty"))
		return
	}
	c.InvalidIf(!strings.HasPrefix(path, "/"), at, path, "must start with a '/'")
	for i, segment := range strings.Split(strings.TrimSuffix(path[1:], "/"), "/") {
		if segment == "" {
			c.Add(field.Invalid(at, path, fmt.Sprintf("segment[%d] may not be empty", i)))
			continue
		}
		for _, message := range utilvalidation.IsDNS1123Subdomain(segment) {
			c.Add(field.Invalid(at, path, fmt.Sprintf("segment[%d]: %s", i, message)))
		}
	}
}

// CheckConditions checks the conditions of a webhook or of a policy, whose expressions it compiles.
func CheckConditions(c *check.Errors, at *field.Path, conditions []admissionregistrationv1.MatchCondition, compile func(expression string) plugincel.CompilationResult) {
	if len(conditions) > maxConditions {
		c.Add(field.TooMany(at, len(conditions), maxConditions))
		return
	}
	names := check.Unique{}
	for i, condition := range conditions {
		at := at.Index(i)
		if expression := strings.TrimSpace(condition.Expression); c.Require(at.Child("expression"), expression) {
			CheckCompiled(c, at.Child("expression"), expression, compile(expression))
		}
		if c.Require(at.Child("name"), condition.Name) {
			c.Qualified(at.Child("name"), condition.Name)
			names.Check(c, at.Child("name"), condition.Name)
		}
	}
}

// CheckCompiled adds the error of a compiled expression, if it has one.
func CheckCompiled(c *check.Errors, at *field.Path, expression string, compiled plugincel.CompilationResult) {
	switch err := compiled.Error; {
	case err == nil:
	case err.Type == apiservercel.ErrorTypeInvalid:
		c.Add(field.Invalid(at, expression, err.Detail))
	default:
		c.Add(field.InternalError(at, err))
	}
}

// Variables are those that the expression of a condition may use beside the objects and the request.
var Variables = plugincel.OptionalVariableDeclarations{HasAuthorizer: true}

// Environment returns that of the expressions.
func Environment() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()) // which makes it once
}

// Compiler returns the compiler of expressions that know no variables of a policy. It is made once, as that takes milliseconds. It is safe for
// concurrent use.
var Compiler = sync.OnceValue(func() plugincel.Compiler { return &serial{Compiler: plugincel.NewCompiler(Environment())} })

// serial compiles one expression at a time: the library keeps the types that an expression names, without a lock.
type serial struct {
	mu sync.Mutex
	plugincel.Compiler
}

func (s *serial) CompileCELExpression(expression plugincel.ExpressionAccessor, variables plugincel.OptionalVariableDeclarations, mode environment.Type) plugincel.CompilationResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Compiler.CompileCELExpression(expression, variables, mode)
}
