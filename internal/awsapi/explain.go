package awsapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"
)

// Kind classifies the failures of calls.
type Kind string

// The kinds.
const (
	// Denied: a permission is missing, or another operator owns the resource.
	Denied Kind = "denied"
	// Credentials: there are none, they are wrong, or they have expired.
	Credentials Kind = "credentials"
	// Region: the region is wrong.
	Region Kind = "region"
	// Missing: the named resource does not exist in that account and region.
	Missing Kind = "missing"
	// Throttled: AWS, or the controller's own limit, accepts no more calls now.
	Throttled Kind = "throttled"
	// Refused: AWS refused the request in the present state of the resource.
	Refused Kind = "refused"
	// Unreachable: no answer arrived.
	Unreachable Kind = "unreachable"
	// Failed: anything else.
	Failed Kind = "failed"
)

// Error is a failed call. Its text says what was attempted, what AWS answered and what to do. It
// contains no request id, so that the same fault always has the same text.
type Error struct {
	Kind Kind
	// Code and Message are AWS's answer; empty without an answer.
	Code, Message string
	// Status is the HTTP status of the answer; 0 without an answer.
	Status int
	// Action is the missing permission, for example "autoscaling:SetDesiredCapacity", and Resource the
	// resource it is missing for. They are set for Denied only, Resource only if AWS named it.
	Action, Resource string

	text string
	err  error
}

// Error implements error.
func (e *Error) Error() string { return e.text }

// Unwrap returns the error of the SDK.
func (e *Error) Unwrap() error { return e.err }

// KindOf returns the kind of an error made by [Explain]; empty for any other error.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// Explain turns the error of a call into an [Error]; nil stays nil. what says what was attempted on
// which resource, as in "set the size of the Auto Scaling group web". region is the region of the call.
func Explain(what, region string, err error) error {
	if err == nil {
		return nil
	}
	if explained, ok := errors.AsType[*Error](err); ok {
		return explained
	}
	e := &Error{Kind: Failed, err: err}
	e.action(err)
	if r, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		e.Status = r.HTTPStatusCode()
	}
	api, answered := errors.AsType[smithy.APIError](err)
	if !answered {
		e.unanswered(what, region, err)
		return e
	}
	e.Code, e.Message = api.ErrorCode(), api.ErrorMessage()
	e.Kind = kindOf(e.Code, e.Message)
	remedy := ""
	switch e.Kind {
	case Denied:
		remedy = e.denied()
	case Credentials:
		e.Action = ""
		remedy = "renew the credentials: " + remedyCredentials
	case Region:
		remedy = fmt.Sprintf("found the region %s; state the one where it is", region)
	case Missing:
		remedy = fmt.Sprintf("there is none in the region %s and the account of these credentials; create it, or "+
			"correct name, region or account", region)
	case Throttled:
		remedy = "AWS accepts no more calls of this account for now; Muster calls less often until it does"
	}
	if e.Kind != Denied {
		e.Action = ""
	}
	e.text = what + ": " + said(e.Code, e.Message)
	if remedy != "" {
		e.text += "; " + remedy
	}
	return e
}

const remedyCredentials = "sign in again, set new keys, or check the role of this machine"

// said joins a code and a message, which may be equal.
func said(code, message string) string {
	message = strings.TrimRight(strings.TrimSpace(message), ".")
	if message == "" || strings.EqualFold(message, code) {
		return code
	}
	return code + ": " + message
}

// action derives the permission from the operation. The prefix of a permission differs from the name of
// the service for two of them.
func (e *Error) action(err error) {
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		prefix := strings.ToLower(op.Service())
		switch op.Service() {
		case "Auto Scaling":
			prefix = "autoscaling"
		case "Application Auto Scaling":
			prefix = "application-autoscaling"
		}
		e.Action = prefix + ":" + op.Operation()
	}
}

// notAuthorized matches AWS's text about a missing permission: the action and, mostly, the resource.
var notAuthorized = regexp.MustCompile(`not authorized to perform:? ([a-z0-9-]+:[A-Za-z0-9*]+)(?: on resource:? (\S+))?`)

// denied returns the remedy for a missing permission, and fills in Action and Resource from AWS's text.
func (e *Error) denied() string {
	if strings.Contains(strings.ToLower(e.Message), "operator") {
		return "another operator manages it and is the only one that may change it; let that operator size it, or " +
			"give Muster one of its own"
	}
	if m := notAuthorized.FindStringSubmatch(e.Message); m != nil {
		e.Action, e.Resource = m[1], strings.TrimRight(m[2], ".,")
	}
	if e.Action == "" {
		return "allow it to the role or user of these credentials"
	}
	if e.Resource != "" {
		return fmt.Sprintf("allow %s on %s to the role or user of these credentials", e.Action, e.Resource)
	}
	return fmt.Sprintf("allow %s to the role or user of these credentials", e.Action)
}

// unanswered explains a call without an answer from AWS.
func (e *Error) unanswered(what, region string, err error) {
	unsigned, noCredentials := errors.AsType[*NoCredentialsError](err)
	lookup, noHost := errors.AsType[*net.DNSError](err)
	switch {
	case noCredentials:
		e.Kind, e.text = Credentials, fmt.Sprintf("%s: %v", what, unsigned)
	case errors.Is(err, errLimited):
		e.Kind, e.text = Throttled, fmt.Sprintf("%s: %v; raise the limit, or poll less often", what, errLimited)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.text = Unreachable, fmt.Sprintf("%s: no answer came in time", what)
	case noHost && lookup.IsNotFound:
		e.Kind, e.text = Region, fmt.Sprintf("%s: there is no host %s; is %s the right region?", what, lookup.Name,
			cmp.Or(region, "none"))
	case e.Status != 0: // that of a proxy on the way, or of a stand-in for AWS
		e.Kind, e.text = Unreachable, fmt.Sprintf("%s: the answer with the status %d is not one of AWS: %v", what,
			e.Status, innermost(err))
	default:
		e.Kind, e.text = Unreachable, fmt.Sprintf("%s: no answer came: %v", what, innermost(err))
	}
	e.Action = ""
}

// innermost returns the innermost error: the SDK wraps a connection error in several layers of text. When no retry is
// left, it joins it with [errNoRetries], after it. Other joined errors are told whole.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok && errors.Is(err, errNoRetries) {
			inner = joined.Unwrap()[0]
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}

// kindOf classifies AWS's codes. They differ by service, and by protocol in prefixes and suffixes, so
// it looks for parts.
func kindOf(code, message string) Kind {
	lower := strings.ToLower(message)
	switch c := strings.ToLower(code); {
	case strings.Contains(c, "expired") || strings.Contains(c, "unrecognizedclient") ||
		strings.Contains(c, "invalidclienttokenid") ||
		strings.Contains(c, "invalidaccesskeyid") || strings.Contains(c, "missingauthenticationtoken") ||
		strings.Contains(c, "incompletesignature") ||
		strings.Contains(c, "authfailure") || strings.Contains(c, "optinrequired"):
		return Credentials
	case strings.Contains(c, "signaturedoesnotmatch") || strings.Contains(c, "invalidsignature"):
		if strings.Contains(lower, "scoped to a valid region") || strings.Contains(lower, "scoped to correct") {
			return Region
		}
		return Credentials
	case strings.Contains(c, "accessdenied") || strings.Contains(c, "unauthorized") ||
		strings.Contains(c, "notauthorized"):
		return Denied
	case strings.Contains(c, "throttl") || strings.Contains(c, "toomanyrequests") ||
		strings.Contains(c, "requestlimitexceeded") || strings.Contains(c, "slowdown") ||
		strings.Contains(lower, "rate exceeded"):
		return Throttled
	case strings.Contains(c, "doesnotexist") || strings.Contains(c, "nonexistent") || strings.Contains(c, "notfound") ||
		strings.HasPrefix(c, "validation") &&
			(strings.Contains(lower, "not found") || strings.Contains(lower, "does not exist")):
		return Missing
	case strings.HasPrefix(c, "validation") || strings.HasPrefix(c, "invalidparameter") ||
		strings.Contains(c, "resourcecontention") ||
		strings.Contains(c, "limitexceeded") || strings.Contains(c, "inprogress"):
		return Refused
	}
	return Failed
}
