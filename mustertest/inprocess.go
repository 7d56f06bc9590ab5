package mustertest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// InProcess is an HTTP client that gives each request to a handler of the same process, without a network. So a
// client of an AWS SDK runs against a stand-in inside a bubble of testing/synctest, hours in milliseconds: a network
// connection would keep the bubble's time from advancing. It is safe for concurrent use if the handler is.
type InProcess struct{ Handler http.Handler }

// Do answers the request, or returns the error of its context if that has ended, before or after the handler ran.
func (c InProcess) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	// A handler reads these two, which only a server sets.
	r.RequestURI = r.URL.RequestURI()
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	c.Handler.ServeHTTP(w, r)
	response := w.Result()
	response.Request = r
	return response, r.Context().Err()
}

// AWSEnvironment sets credentials and a region for a test, and unsets everything else that the AWS SDKs would read on
// this machine.
func AWSEnvironment(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_REGION":         "eu-west-1",
		"AWS_DEFAULT_REGION": "", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
		"AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ENDPOINT_URL":          "", "AWS_ENDPOINT_URL_SQS": "", "AWS_CA_BUNDLE": "", "AWS_MAX_ATTEMPTS": "",
		"AWS_RETRY_MODE": "",
	} {
		t.Setenv(name, value)
	}
}
