package etcd3

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kube2014/pkg/api"
)

// failed turns an error of etcd, or of the connection to it, into an *api.Error.
func failed(operation string, err error) error {
	var refused rpctypes.EtcdError
	switch {
	case errors.Is(err, rpctypes.ErrNoSpace):
		return unavailable(operation, "etcd is full: it takes no changes until its quota (NOSPACE) has room again", err)
	case errors.Is(err, rpctypes.ErrTooManyOps):
		return &api.Error{Kind: api.TooLarge, Err: err,
			Message: operation + ": it changes more host ports than etcd takes in one transaction (see its flag --max-txn-ops)"}
	case errors.Is(err, rpctypes.ErrRequestTooLarge), isTooLarge(err):
		return &api.Error{Kind: api.TooLarge, Err: err,
			Message: operation + ": it is larger than etcd takes in one request (see its flag --max-request-bytes)"}
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return unavailable(operation, "etcd has lost a lease that it has just granted; try again", err)
	case errors.As(err, &refused) && isAboutUser(refused):
		return unavailable(operation, "etcd does not accept the user of this server: "+refused.Error(), err)
	case errors.As(err, &refused) && isFinal(refused.Code()):
		return &api.Error{Kind: api.Internal, Err: err, Message: fmt.Sprintf("%s: etcd refused the request: %s", operation, refused.Error())}
	}
	return api.NewUnavailable(operation, err)
}

func unavailable(operation, why string, err error) error {
	return &api.Error{Kind: api.Unavailable, Message: operation + ": " + why, Err: err}
}

// isAboutUser reports whether an error of etcd is about a user, a password or a permission, which
// can be fixed while the server runs.
func isAboutUser(err rpctypes.EtcdError) bool {
	switch err.Code() {
	case codes.PermissionDenied, codes.Unauthenticated:
		return true
	}
	return errors.Is(err, rpctypes.ErrAuthFailed) || errors.Is(err, rpctypes.ErrUserEmpty)
}

// isFinal reports whether an error of etcd is about the request, not about etcd.
func isFinal(code codes.Code) bool {
	switch code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted, codes.Unknown, codes.Internal:
		return false
	}
	return true
}

// isTooLarge reports whether the connection has refused a message because of its size.
func isTooLarge(err error) bool {
	var refused rpctypes.EtcdError
	return status.Code(err) == codes.ResourceExhausted && !errors.As(err, &refused)
}

// isCompacted reports whether etcd has compacted a revision.
func isCompacted(err error) bool { return errors.Is(err, rpctypes.ErrCompacted) }
