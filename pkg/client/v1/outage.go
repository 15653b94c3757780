package v1

import (
	"context"
	"errors"
	"log"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Outage logs once that the server cannot be reached, and once that it can be again.
type Outage struct {
	Of string // whose server it is, for the log

	mu     sync.Mutex // guards what follows
	logged bool       // that it cannot be reached
}

// Note reports whether an error says that the server cannot be reached.
func (o *Outage) Note(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	away := IsAway(err)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case away && !o.logged:
		log.Printf("%s: the server cannot be reached: %s", o.Of, strings.ReplaceAll(err.Error(), "\n", "; "))
		o.logged = true
	case err == nil && o.logged:
		log.Printf("%s: the server can be reached again", o.Of)
		o.logged = false
	}
	return away
}

// IsAway reports whether an error is that of a server that cannot be reached, or cannot answer now.
func IsAway(err error) bool {
	var refused apierrors.APIStatus
	if errors.As(err, &refused) {
		code := refused.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
	}
	return err != nil
}
