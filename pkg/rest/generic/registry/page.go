package registry

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
)

// page is the range and the version of the objects of a list.
type page struct {
	version    uint64  // 0 for the present one
	exact      bool    // of exactly that version; else of that or a later one
	mayBeStale bool    // the cache suffices if it has the version
	start      api.Key // the first object of the page
	everywhere bool    // the objects are those of all namespaces
	continued  bool
}

// textOf returns the key of a start in a token: a name, in a list of all namespaces after its namespace and a slash.
func (p page) textOf(start api.Key) string {
	if p.everywhere {
		return start.Namespace + "/" + start.ID
	}
	return start.ID
}

// isAfter reports whether the page begins after an object.
func (p page) isAfter(key api.Key) bool {
	return cmp.Or(strings.Compare(key.Namespace, p.start.Namespace), strings.Compare(key.ID, p.start.ID)) < 0
}

// continueToken is the content of the token for the next page. It is that of today's server.
type continueToken struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

const tokenVersion = "meta.k8s.io/v1"

// page returns the page for the options of a list.
func (s *Store[T]) page(namespace string, options rest.ListOptions) (page, error) {
	if err := s.checkFields(options); err != nil {
		return page{}, err
	}
	p, err := page{everywhere: s.row.Namespaced && namespace == ""}, error(nil)
	switch {
	case options.Continue != "":
		var start string
		p.continued = true
		if p.version, start, err = continued(options); p.everywhere {
			p.start.Namespace, start, _ = strings.Cut(start, "/")
		} else {
			p.start.Namespace = namespace
		}
		p.start.ID, p.exact = start, p.version > 0
	case options.ResourceVersion != "":
		p.version, err = rest.ParseVersion(options.ResourceVersion)
		p.exact = options.Match == metav1.ResourceVersionMatchExact || options.Match == "" && options.Limit > 0 && p.version > 0
		p.mayBeStale = !p.exact
	}
	return p, err
}

// continued returns the version and the start of a token. The version 0 is the present one: the list may be
// inconsistent.
func continued(options rest.ListOptions) (version uint64, start string, err error) {
	bad := func(format string, args ...any) (uint64, string, error) {
		return 0, "", apierrors.NewBadRequest("invalid continue token: continue key is not valid: " + fmt.Sprintf(format, args...))
	}
	if options.ResourceVersion != "" && options.ResourceVersion != "0" {
		return 0, "", apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	text, err := base64.RawURLEncoding.DecodeString(options.Continue)
	if err != nil {
		return bad("%v", err)
	}
	var token continueToken
	if err := json.Unmarshal(text, &token); err != nil {
		return bad("%v", err)
	}
	switch {
	case token.APIVersion != tokenVersion:
		return bad("server does not recognize this encoded version %q", token.APIVersion)
	case token.StartKey == "":
		return bad("encoded start key empty (version %s)", tokenVersion)
	case path.Clean("/"+token.StartKey) != "/"+strings.TrimPrefix(token.StartKey, "/"):
		return bad("%s", token.StartKey)
	case token.ResourceVersion == 0:
		return bad("incorrect encoded start resourceVersion (version %s)", tokenVersion)
	}
	return uint64(max(token.ResourceVersion, 0)), token.StartKey, nil
}

// tokenFor returns the token for the page that begins with a name. The version -1 is the present one.
func tokenFor(version int64, start string) string {
	token := continueToken{APIVersion: tokenVersion, ResourceVersion: version, StartKey: start}
	text, _ := json.Marshal(token) // strings and a number
	return base64.RawURLEncoding.EncodeToString(text)
}

// expired returns the error for a version that the history has dropped. It has a token by which a client
// may continue with the present version.
func (p page) expired() error {
	if !p.continued {
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	err := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response to retrieve " +
		"the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that " +
		"were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
	err.ErrStatus.Continue = tokenFor(-1, p.textOf(p.start))
	return err
}
