// Package sigv4 verifies AWS Signature Version 4, in the Authorization header or in the URL (presigned
// requests).
//
// It works in two steps, because the head of a request arrives before its body. [Verifier.Read] checks
// everything that the head shows and returns a [Claim]; nothing of the body need be read for a request
// that it refuses. [Verifier.Verify] checks the signature over head and body.
//
//	claim, err := v.Read(r)            // before the body
//	err = v.Verify(claim, r, body)     // after the body
//
// Errors are those of AWS, with a sentence on what to do. The algorithm is described in "Signature
// Version 4 for API requests" of the IAM User Guide: a canonical form of the request is hashed, and an
// HMAC with a key derived from secret, day, region and service signs the hash.
//
// The package knows one key pair, given by the fields of the [Verifier], and not where it is kept. It
// knows no action and reads no clock but Verifier.Now.
package sigv4
