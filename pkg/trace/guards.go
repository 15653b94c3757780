package trace

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"kube2014/pkg/admission"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server"
)

// Guards traces who gets in. Credentials are not told.
func (t *Tracer) Guards(next server.Guards) server.Guards {
	return server.Guards{Authenticator: guards{t, next}, Authorizer: guards{t, next}}
}

type guards struct {
	t    *Tracer
	next server.Guards
}

func (g guards) AuthenticateRequest(req *http.Request) (who *user.Info, ok bool, err error) {
	_, err = ask(g.t, "Authenticator.AuthenticateRequest", func(who *user.Info) string {
		if who == nil {
			return "nobody"
		}
		return fmt.Sprintf("user %s in %s", value(who.Name), value(strings.Join(who.Groups, ", ")))
	}, func() (*user.Info, error) {
		who, ok, err = g.next.Authenticator.AuthenticateRequest(req)
		return who, err
	})
	return who, ok, err
}

func (g guards) Authorize(ctx context.Context, a authorizer.Attributes) (decision authorizer.Decision, reason string, err error) {
	what := a.Path
	if a.IsResource {
		what = strings.Trim(a.Namespace+"/"+a.Resource+"/"+a.Name+"/"+a.Subresource, "/")
	}
	_, err = ask(g.t, "Authorizer.Authorize("+value(a.User.Name)+", "+a.Verb+" "+value(what)+")", func(told string) string { return told }, func() (string, error) {
		decision, reason, err = g.next.Authorizer.Authorize(ctx, a)
		told := map[authorizer.Decision]string{authorizer.Allow: "allowed", authorizer.Deny: "denied", authorizer.NoOpinion: "no opinion"}[decision]
		if reason != "" {
			told += ": " + cut(reason, maxFailure)
		}
		return told, err
	})
	return decision, reason, err
}

// Admission traces the calls of a chain's plugins.
func (t *Tracer) Admission(call admission.Call, next func() error) error {
	method := map[admission.Step]string{admission.Admit: "Admit", admission.Validate: "Validate"}[call.Step]
	a := call.Attributes
	what := strings.Trim(a.Resource.Resource+"/"+a.Name+"/"+a.Subresource, "/")
	return t.tell(call.Plugin+"."+method+"("+strings.ToLower(string(a.Operation))+" "+value(what)+")", next)
}
