package awsapi

import (
	"context"
	"io"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// PlainBody is an option of the SDK's clients (APIOptions). It hides the WriteTo method of request
// bodies.
//
// The SDK closes a body as soon as the answer begins. WriteTo of its closed body returns io.EOF as an
// error, where Read returns io.EOF as its end. After net/http has sent a body it asks it for more. If
// the answer arrives before that, as it does on one machine, WriteTo's error ends the connection while
// the answer is read ("use of closed network connection"). Messages in that answer would be lost to the
// worker until their visibility timeout ends.
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
