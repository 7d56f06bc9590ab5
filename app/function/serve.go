package function

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
)

// runtimeVariable is the address of the runtime API, HOST:PORT.
const runtimeVariable = "AWS_LAMBDA_RUNTIME_API"

// initWithin bounds the report of a failed start.
const initWithin = 2 * time.Second

// Serve answers the invocations of Lambda with f until the process ends: Lambda freezes it between two invocations, and
// kills it in the end. If f could not be made, Serve reports why to the runtime API, so that the invocation fails with
// that message at once, and returns the exit code of the process. A panic of an invocation ends the process, because
// the memory that it leaves behind is not to be trusted; Lambda starts another one.
func Serve(ctx context.Context, f *Function, failed error, stderr io.Writer) int {
	if failed == nil && os.Getenv(runtimeVariable) == "" {
		failed = fmt.Errorf("%s is not set: this program runs in AWS Lambda only, as the file bootstrap of the "+
			"runtime provided.al2023; docs/lambda.md explains it", runtimeVariable)
	}
	if failed != nil {
		fmt.Fprintln(stderr, failed)
		if err := reportInit(ctx, failed); err != nil {
			fmt.Fprintln(stderr, err)
		}
		return 1
	}
	lambda.StartWithOptions(typed{f}, lambda.WithContext(ctx)) // it ends the process by itself
	return 1
}

// typed answers as a function does, but with errors of one type. The runtime would name that of Go's innermost wrapper,
// which tells nobody anything.
type typed struct{ lambda.Handler }

// Invoke implements [lambda.Handler].
func (t typed) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	answer, err := t.Handler.Invoke(ctx, payload)
	if err != nil {
		return nil, messages.InvokeResponse_Error{Message: err.Error(), Type: "Muster.Failed"}
	}
	return answer, nil
}

// reportInit tells the runtime API why the function does not start. Outside of Lambda it does nothing.
func reportInit(ctx context.Context, failed error) error {
	api := os.Getenv(runtimeVariable)
	if api == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, initWithin)
	defer stop()
	text, err := json.Marshal(map[string]string{"errorMessage": failed.Error(), "errorType": "Muster.Configuration"})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+api+"/2018-06-01/runtime/init/error",
		bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("report the failed start: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Lambda-Runtime-Function-Error-Type", "Muster.Configuration")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("report the failed start: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		return fmt.Errorf("report the failed start: the runtime API answered %s", answer.Status)
	}
	return nil
}
