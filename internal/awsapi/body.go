package awsapi

import (
	"context"
	"io"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// PlainBody is an option of the SDK's clients (APIOptions): what a request sends can be read and sought, and offers no
// WriteTo. The SDK closes a body as soon as the answer begins, and the WriteTo of a closed body of its own says io.EOF
// as an error. net/http asks the body for more than its length after it has sent it; an answer that comes before that,
// as it does from this machine, then ends the connection under the answer ("use of closed network connection"). What a
// worker had received in it would be gone until its visibility timeout. The Read of a closed body says io.EOF as it
// should.
func PlainBody(s *middleware.Stack) error {
	return s.Build.Add(middleware.BuildMiddlewareFunc("PlainBody", func(ctx context.Context, in middleware.BuildInput,
		next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
		if r, ok := in.Request.(*smithyhttp.Request); ok {
			if body, ok := r.GetStream().(io.ReadSeeker); ok {
				plain, err := r.SetStream(struct{ io.ReadSeeker }{body})
				if err != nil {
					return middleware.BuildOutput{}, middleware.Metadata{}, err
				}
				in.Request = plain
			}
		}
		return next.HandleBuild(ctx, in)
	}), middleware.After)
}
