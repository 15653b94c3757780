package authorizer

import (
	"fmt"
	"strings"
)

// Denied is the error of a request that is not allowed, in the words of today's server. In a
// Status, the forbidden resource comes first: "pods is forbidden: ".
type Denied struct {
	Attributes Attributes
	Reason     string // of the authorizer, "" for none
}

// Error names the user and the action. What the client sent is escaped, because a browser may show
// the text as HTML.
func (d *Denied) Error() string {
	text := withoutHTML.Replace(d.Attributes.cannot())
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

var withoutHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (a Attributes) cannot() string {
	if !a.IsResource {
		return fmt.Sprintf("User %q cannot %s path %q", a.User.Name, a.Verb, a.Path)
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	scope := " at the cluster scope"
	if a.Namespace != "" {
		scope = fmt.Sprintf(" in the namespace %q", a.Namespace)
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q%s", a.User.Name, a.Verb, resource, a.APIGroup, scope)
}
