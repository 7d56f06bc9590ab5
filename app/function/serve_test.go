package function

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/google/go-cmp/cmp"
)

// broken makes this test program a function that panics; TestMain serves it.
const broken = "MUSTER_TEST_BROKEN"

func TestMain(m *testing.M) {
	if os.Getenv(broken) == "" {
		os.Exit(m.Run())
	}
	f := &Function{"broken", func(context.Context, []byte) (any, error) {
		var none map[string]int
		none["x"]++
		return nil, nil
	}}
	os.Exit(Serve(context.Background(), f, nil, os.Stderr))
}

func TestAFailedInvocationHasOneTypeOfError(t *testing.T) {
	f := &Function{"step", func(context.Context, []byte) (any, error) {
		return nil, fmt.Errorf("read the history: %w", io.ErrUnexpectedEOF)
	}}
	_, err := typed{f}.Invoke(t.Context(), nil)
	want := messages.InvokeResponse_Error{Message: "step: read the history: unexpected EOF", Type: "Muster.Failed"}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAPanicIsReportedAndEndsTheProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	posted := make(chan string, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "r1")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", "99999999999999")
			return
		}
		body, _ := io.ReadAll(q.Body)
		posted <- q.URL.Path + " " + string(body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer api.Close()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	p := exec.CommandContext(ctx, self)
	p.Env = []string{broken + "=1", "AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(api.URL, "http://")}
	if err := p.Run(); err == nil || ctx.Err() != nil {
		t.Errorf("the process ended with %v, want a failure within 20 s", err)
	}
	if got := <-posted; !strings.HasPrefix(got, "/2018-06-01/runtime/invocation/r1/error ") ||
		!strings.Contains(got, "nil map") {
		t.Errorf("posted %.300s, want the panic", got)
	}
}
