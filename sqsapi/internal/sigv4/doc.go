// Package sigv4 checks the signatures of requests, AWS Signature Version 4, in the headers or in the URL.
//
// [Verifier.Read] refuses what cannot be right by the head of a request, so that nothing of its body need be read;
// [Verifier.Verify] checks the signature once the body is there. An error says what to do about it, in the words of
// AWS. Which key pair is meant is stated by the fields of the [Verifier]; where it is kept is not known here.
package sigv4
