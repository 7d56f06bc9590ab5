package work

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/mustertest"
)

// A worker of an embedded queue signs what is for AWS with the keys of AWS, although it has the keys of its queue too.
func TestTreesInATableAreReadWithTheKeysOfAWS(t *testing.T) {
	mustertest.AWSEnvironment(t)
	var signed atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed.Store(r.Header.Get("Authorization"))
		http.Error(w, `{"__type":"AccessDeniedException","message":"no"}`, http.StatusBadRequest)
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "of-aws")
	t.Setenv(app.QueueKeyVariable, "of-the-queue")
	t.Setenv(app.QueueSecretVariable, "secret")
	w := nodeWork{Trees: Trees{Path: "dynamodb:trees"}}
	if err := w.openTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer w.close()
	client.UseGivenKeys()
	if _, err := w.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Running(t.Context(), 1, func(string) bool { return false }); err == nil {
		t.Error("the stand-in refuses, and nobody says so")
	}
	if by, _ := signed.Load().(string); !strings.Contains(by, "Credential=of-aws/") {
		t.Errorf("signed as %.60q, want with the keys of AWS", by)
	}
}
