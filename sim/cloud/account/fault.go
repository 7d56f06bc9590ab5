package account

import (
	"fmt"
	"strings"
	"time"
)

// Fault is an error as the API answers it.
type Fault struct {
	// Code is the error code on the wire, for example ValidationError.
	Code string
	// Message says what is wrong, in the manner of the API.
	Message string
	// Status is the HTTP status.
	Status int
	// Hang tells that the caller gets no answer at all.
	Hang bool
}

// Error returns the code and the message.
func (f *Fault) Error() string { return f.Code + ": " + f.Message }

// Refuse returns a fault of the caller, with status 400.
func Refuse(code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...), Status: 400}
}

// Invalid returns the fault with which EC2 Auto Scaling refuses arguments.
func Invalid(format string, args ...any) *Fault { return Refuse("ValidationError", format, args...) }

// API is a service, under the name in the scope of a request's signature.
type API string

// The services of an account.
const (
	AutoScalingService        API = "autoscaling"
	ECSService                API = "ecs"
	ApplicationScalingService API = "application-autoscaling"
	CloudWatchService         API = "monitoring"
	SQSService                API = "sqs"
)

// Rate is a token bucket of the API: Burst calls at once, PerSecond over time. All actions that one Rate names share
// its bucket.
type Rate struct {
	Service API
	// Actions share the bucket; empty means all actions of the service that no earlier Rate names.
	Actions []string
	// Burst is the number of tokens that the bucket holds, at least 1. PerSecond is how many it gains in a second.
	Burst, PerSecond float64
}

// DefaultRates returns the published rates. EC2 Auto Scaling and Application Auto Scaling publish none, and the rates
// of ECS are from memory: those are plausible values.
func DefaultRates() []Rate {
	return []Rate{
		{CloudWatchService, []string{"PutMetricData"}, 500, 500},
		{CloudWatchService, []string{"GetMetricData"}, 50, 50},
		{CloudWatchService, []string{"PutMetricAlarm"}, 3, 3},
		{CloudWatchService, []string{"DescribeAlarms"}, 9, 9},
		{CloudWatchService, []string{"ListMetrics"}, 25, 25},
		{CloudWatchService, []string{"GetMetricStatistics"}, 400, 400},
		{ECSService, []string{"RunTask", "StopTask"}, 100, 40},
		{ECSService, []string{"CreateService", "UpdateService", "DeleteService"}, 50, 5},
		{ECSService, nil, 50, 20},
		{AutoScalingService, nil, 100, 10},
		{ApplicationScalingService, nil, 50, 10},
	}
}

// Bucket is the token bucket of a Rate.
type Bucket struct {
	rate   Rate
	tokens float64
	at     time.Time
}

// NewBucket returns a full bucket.
func NewBucket(r Rate, at time.Time) *Bucket { return &Bucket{rate: r, tokens: r.Burst, at: at} }

func (b *Bucket) serves(s API, action string) bool {
	if b.rate.Service != s {
		return false
	}
	for _, a := range b.rate.Actions {
		if a == action {
			return true
		}
	}
	return len(b.rate.Actions) == 0
}

// Take takes a token out of the bucket and tells whether there was one.
func (b *Bucket) Take(now time.Time) bool {
	b.tokens = min(max(b.rate.Burst, 1), b.tokens+b.rate.PerSecond*now.Sub(b.at).Seconds())
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// Trouble is a failure of a call that its arguments did not cause.
type Trouble string

// The troubles.
const (
	// AccessDenied: the caller's role does not allow the action.
	AccessDenied Trouble = "access denied"
	// ExpiredToken: the caller's credentials have expired.
	ExpiredToken Trouble = "expired token"
	// Throttled: too many calls.
	Throttled Trouble = "throttled"
	// InternalFailure: the service has a fault, status 500.
	InternalFailure Trouble = "internal failure"
	// Contention: EC2 Auto Scaling has another update of the group in progress, status 500. Other services fail as
	// with InternalFailure.
	Contention Trouble = "contention"
	// Timeout: the call is not carried out and never answered.
	Timeout Trouble = "timeout"
	// LostAnswer: the call is carried out and never answered.
	LostAnswer Trouble = "lost answer"
)

// Injection makes matching calls fail.
type Injection struct {
	Trouble Trouble
	// Service and Action select the calls; empty means any.
	Service API
	Action  string
	// Times is the number of calls that fail; 0 means all of them until Until.
	Times int
	// Until is when the injection ends; the zero time means never.
	Until time.Time
	// Share is the share of matching calls that fail, drawn by the account's seed; 0 means all.
	Share float64
}

// Inject makes later calls fail. Of several injections that match, the first decides.
func (w *Account) Inject(i Injection) { w.injections = append(w.injections, &i) }

// ClearInjections removes all injections.
func (w *Account) ClearInjections() { w.injections = nil }

// Admission is what happens to a call before the action sees it.
type Admission struct {
	// Fault refuses the call; nil lets it pass.
	Fault *Fault
	// LoseAnswer tells that the action is carried out and its answer never arrives.
	LoseAnswer bool
}

// Admit decides whether a call reaches its action: injected troubles come first, then the token bucket. Actions do
// not call it, so that a simulation without a network may call them freely. A server calls it before each action.
func (w *Account) Admit(s API, action string) Admission {
	for _, i := range w.injections {
		if i.spent(w.now) || i.Service != "" && i.Service != s || i.Action != "" && i.Action != action {
			continue
		}
		if i.Share > 0 && !w.Hit("injection", i.Share) {
			continue
		}
		if i.Times > 0 {
			if i.Times--; i.Times == 0 {
				i.Times = -1
			}
		}
		if i.Trouble == LostAnswer {
			return Admission{LoseAnswer: true}
		}
		return Admission{Fault: FaultOf(i.Trouble, s, action)}
	}
	for _, b := range w.buckets {
		if b.serves(s, action) {
			if !b.Take(w.now) {
				return Admission{Fault: FaultOf(Throttled, s, action)}
			}
			break
		}
	}
	return Admission{}
}

func (i *Injection) spent(now time.Time) bool {
	return i.Times < 0 || !i.Until.IsZero() && !now.Before(i.Until)
}

// FaultOf returns a trouble in the words of a service. Services that speak JSON have codes that end in Exception.
func FaultOf(t Trouble, s API, action string) *Fault {
	json := s == ECSService || s == ApplicationScalingService
	switch t {
	case AccessDenied:
		message := fmt.Sprintf("User is not authorized to perform: %s:%s",
			strings.Replace(string(s), "monitoring", "cloudwatch", 1), action)
		if json {
			return Refuse("AccessDeniedException", "%s", message)
		}
		return &Fault{Code: "AccessDenied", Message: message, Status: 403}
	case ExpiredToken:
		if json {
			return Refuse("ExpiredTokenException", "The security token included in the request is expired")
		}
		return &Fault{Code: "ExpiredToken", Message: "The security token included in the request is expired",
			Status: 403}
	case Throttled:
		switch {
		case json:
			return Refuse("ThrottlingException", "Rate exceeded")
		case s == SQSService:
			return &Fault{Code: "RequestThrottled", Message: "Rate exceeded", Status: 403}
		}
		return Refuse("Throttling", "Rate exceeded")
	case InternalFailure, Contention:
		if t == Contention && s == AutoScalingService {
			return &Fault{Code: "ResourceContention", Message: "You already have a pending update to an Amazon EC2 " +
				"Auto Scaling resource.", Status: 500}
		}
		if json {
			return &Fault{Code: "ServerException", Message: "Service unavailable. Please try again later.", Status: 500}
		}
		return &Fault{Code: "InternalFailure", Message: "The request processing has failed because of an internal " +
			"error.", Status: 500}
	}
	return &Fault{Code: "Timeout", Message: "no answer", Status: 504, Hang: true}
}
