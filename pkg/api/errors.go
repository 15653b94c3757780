package api

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"kube2014/pkg/util"
)

// ErrorKind classifies an error, so that a caller can decide what to do. The
// apiserver maps each kind to one HTTP status.
type ErrorKind string

// The kinds of errors in the apiserver's answers.
const (
	Invalid          ErrorKind = "invalid"            // the request breaks a rule; Field names the place
	Unauthorized     ErrorKind = "unauthorized"       // the sender is not authenticated
	Forbidden        ErrorKind = "forbidden"          // the sender may not do this
	NotFound         ErrorKind = "not found"          // there is no such object or path
	MethodNotAllowed ErrorKind = "method not allowed" // the path exists, but does not serve the method
	AlreadyExists    ErrorKind = "already exists"     // the id is taken
	Conflict         ErrorKind = "conflict"           // the state of other objects forbids it
	HostPortTaken    ErrorKind = "host port taken"    // a conflict on one machine; another machine may be free
	TooManyRequests  ErrorKind = "too many requests"  // the server is busy; a retry later may help
	Expired          ErrorKind = "expired"            // the changes after a version are no longer available
	TooLarge         ErrorKind = "too large"          // the request is larger than the server reads
	Internal         ErrorKind = "internal"           // the server or its store is at fault
	Unavailable      ErrorKind = "unavailable"        // the store cannot be reached; a retry may help
	Timeout          ErrorKind = "timeout"            // the request took too long; it may have taken effect
)

// Error is an error whose text may be sent to a client: one line that reveals no
// internals.
type Error struct {
	Kind    ErrorKind
	Field   string // for Invalid: the path of the field in the JSON, such as desiredState.replicas
	Message string // what is wrong; never empty
	Err     error  // the cause, for logs; may be nil
	// RetryAfter is for TooManyRequests: the seconds after which a client should try again; 0 stands for 1.
	RetryAfter int
}

// Error returns the message, after the field's path if there is one.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first *Error in err's chain, Internal for any
// other error, and "" for nil.
func KindOf(err error) ErrorKind {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	}
	return Internal
}

// InFull returns an error's text for logs, with the cause, which Error omits.
func InFull(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Err != nil && !strings.HasSuffix(err.Error(), e.Err.Error()) {
		return err.Error() + ": " + e.Err.Error()
	}
	return err.Error()
}

const (
	notFoundEnding      = " does not exist"
	alreadyExistsEnding = " already exists"
)

// NewNotFound returns the error for a missing object.
func NewNotFound(kind Kind, id string) error {
	return &Error{Kind: NotFound, Message: string(kind) + " " + Quote(id) + notFoundEnding}
}

// NewAlreadyExists returns the error for an id that is taken.
func NewAlreadyExists(kind Kind, id string) error {
	return &Error{Kind: AlreadyExists, Message: string(kind) + " " + Quote(id) + alreadyExistsEnding}
}

// NewInvalid returns the error for a field that breaks a rule. The text follows
// the field's path, so it begins with the value or with a verb.
func NewInvalid(field, format string, args ...interface{}) error {
	return &Error{Kind: Invalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// NewConflict returns the error for a request that the state of other objects
// forbids.
func NewConflict(format string, args ...interface{}) error {
	return &Error{Kind: Conflict, Message: fmt.Sprintf(format, args...)}
}

// ErrOutdated is the cause of a conflict: an object has changed since admission decided about it.
var ErrOutdated = errors.New("the object has changed meanwhile")

// NewOutdated returns the error for an object that has changed since admission decided about it.
func NewOutdated(key Key) error {
	return &Error{Kind: Conflict, Message: key.InWords() + " is changed by too many others at once", Err: ErrOutdated}
}

// NewHostPortTaken returns the error for a task that needs a host port that
// another task holds on the same machine.
func NewHostPortTaken(taskID string, port int, machine, owner string) error {
	return &Error{Kind: HostPortTaken, Message: fmt.Sprintf(
		"task %s needs host port %d, but on machine %s task %s has it", Quote(taskID), port, machine, Quote(owner))}
}

// NewUnavailable returns the error for an operation that could not reach the
// store. The cause is only logged.
func NewUnavailable(operation string, cause error) error {
	return &Error{Kind: Unavailable, Message: operation + ": the store cannot be reached", Err: cause}
}

// ParseError is the inverse of Error: it returns the error that an apiserver
// sent as a line of text. The line must not include the leading status text.
// HostPortTaken is returned as Conflict.
func ParseError(kind ErrorKind, line string) error {
	e := &Error{Kind: kind, Message: line}
	switch {
	case kind == Invalid:
		if field, message, ok := strings.Cut(line, ": "); ok {
			e.Field, e.Message = field, message
		}
	case kind == Conflict && strings.HasSuffix(line, alreadyExistsEnding):
		e.Kind = AlreadyExists
	}
	return e
}

// Printable replaces each character of a text that is not printable, such as a
// line break.
func Printable(text string, replacement rune) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return replacement
	}, text)
}

// Line returns a text as one printable line, truncated after util.MaxLine bytes.
func Line(text string) string {
	if len(text) > util.MaxLine {
		text = text[:util.MaxLine] + "..."
	}
	return Printable(strings.ToValidUTF8(text, "?"), ' ')
}

// quotedLimit bounds a client's value in an error, in bytes.
const quotedLimit = 64

// Quote returns a client's value for use in an error: in double quotes, in
// ASCII, truncated if it is long.
func Quote(value string) string {
	if len(value) > quotedLimit {
		return strconv.QuoteToASCII(value[:quotedLimit]) + "..."
	}
	return strconv.QuoteToASCII(value)
}
