package audit

import (
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	authnv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/auth/user/userinfo"
)

// maxUserAgent is the length, in bytes, to which a user agent is cut.
const maxUserAgent = 1024

// Event collects the data of a request. It implements request.Observer, and is for one goroutine at
// a time.
type Event struct {
	auditor  *Auditor
	decision Decision
	secret   bool // the bodies contain tokens
	event    auditv1.Event
	answer   func() []byte // the JSON of an answer in another form; nil if the answer is JSON
}

// Begin returns the event of a request that was just received. As in today's server, the client may
// choose the id.
func (a *Auditor) Begin(req *http.Request) *Event {
	id := req.Header.Get(auditv1.HeaderAuditID)
	if id == "" {
		id = uuid.NewString()
	}
	return &Event{auditor: a, event: auditv1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Event"},
		AuditID:  types.UID(id), RequestReceivedTimestamp: metav1.NewMicroTime(time.Now()),
	}}
}

// ID returns the audit id, which all lines of the request share.
func (e *Event) ID() string { return string(e.event.AuditID) }

// isSecret reports whether the bodies of a request have secrets.
func isSecret(a authorizer.Attributes) bool {
	switch a.APIGroup {
	case authnv1.GroupName:
		return a.Resource == "tokenreviews"
	case "":
		return a.Resource == "secrets" || a.Resource == "serviceaccounts" && a.Subresource == "token"
	}
	return false
}

// Decide applies the policy to a request, and reports whether any event must be written. The user is
// nil if the request is not authenticated.
func (e *Event) Decide(req *http.Request, a authorizer.Attributes) bool {
	e.decision = e.auditor.policy().Decide(a)
	e.secret = isSecret(a)
	if e.secret && e.decision.includes(auditv1.LevelRequest) {
		e.decision.Level = auditv1.LevelMetadata
	}
	e.auditor.Counters.Level(string(e.decision.Level))
	if e.decision.Level == auditv1.LevelNone {
		return false
	}
	e.event.Level, e.event.Verb, e.event.RequestURI = e.decision.Level, a.Verb, req.URL.RequestURI()
	for _, ip := range utilnet.SourceIPs(req) {
		e.event.SourceIPs = append(e.event.SourceIPs, ip.String())
	}
	if e.event.UserAgent = req.UserAgent(); len(e.event.UserAgent) > maxUserAgent {
		e.event.UserAgent = e.event.UserAgent[:maxUserAgent] + "...TRUNCATED"
	}
	e.event.User = userinfo.Of(a.User)
	if a.IsResource {
		e.event.ObjectRef = &auditv1.ObjectReference{Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name,
			APIGroup: a.APIGroup, APIVersion: a.APIVersion}
	}
	return true
}

// ActsAs implements request.Observer.
func (e *Event) ActsAs(who *user.Info) {
	info := userinfo.Of(who)
	e.event.ImpersonatedUser = &info
}

// Annotate implements request.Observer.
func (e *Event) Annotate(key, value string) {
	if e.event.Annotations == nil {
		e.event.Annotations = map[string]string{}
	}
	if _, known := e.event.Annotations[key]; !known {
		e.event.Annotations[key] = value
	}
}

// Write writes the event of a stage, unless the policy omits the stage.
func (e *Event) Write(stage auditv1.Stage) {
	if slices.Contains(e.decision.OmitStages, stage) {
		return
	}
	e.event.Stage, e.event.StageTimestamp = stage, e.event.RequestReceivedTimestamp
	if stage != auditv1.StageRequestReceived {
		e.event.StageTimestamp = metav1.NewMicroTime(time.Now())
	}
	e.auditor.write(&e.event)
}
