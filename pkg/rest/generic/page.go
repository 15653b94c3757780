package generic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/rest"
)

// page is the range and the version of the objects of a list.
type page struct {
	version    uint64 // 0 for the present one
	exact      bool   // of exactly that version; else of that or a later one
	mayBeStale bool   // the cache suffices if it has the version
	start      string // the first name of the page
	continued  bool
}

// continueToken is the content of the token for the next page. It is that of today's server.
type continueToken struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

const tokenVersion = "meta.k8s.io/v1"

// page returns the page for the options of a list.
func (s *Store[T]) page(options rest.ListOptions) (page, error) {
	if err := s.checkFields(options); err != nil {
		return page{}, err
	}
	if options.Continue != "" {
		return continued(options)
	}
	if options.ResourceVersion == "" {
		return page{}, nil
	}
	version, err := rest.ParseVersion(options.ResourceVersion)
	exact := options.Match == metav1.ResourceVersionMatchExact
	if options.Match == "" && options.Limit > 0 && version > 0 {
		exact = true
	}
	return page{version: version, exact: exact, mayBeStale: !exact}, err
}

// continued returns the page of a token.
func continued(options rest.ListOptions) (page, error) {
	bad := func(format string, args ...any) (page, error) {
		return page{}, apierrors.NewBadRequest("invalid continue token: continue key is not valid: " + fmt.Sprintf(format, args...))
	}
	if options.ResourceVersion != "" && options.ResourceVersion != "0" {
		return page{}, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
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
	case token.ResourceVersion < 0: // the list may be inconsistent
		return page{start: token.StartKey, continued: true}, nil
	}
	return page{version: uint64(token.ResourceVersion), exact: true, start: token.StartKey, continued: true}, nil
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
	err.ErrStatus.Continue = tokenFor(-1, p.start)
	return err
}
