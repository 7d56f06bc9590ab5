// Package protocol encodes and decodes SQS requests and answers, in both protocols: AWS JSON 1.0, which
// SDKs use today, and the older Query protocol with forms and XML.
//
//	codec := protocol.CodecOf(r)
//	request, err := codec.Request(r, body)     // which action
//	err = request.Decode(&parameters)          // into the struct of that action
//	codec.Result(w, request.Action, result)    // or codec.Fault(w, protocol.FaultOf(err))
//
// A [Codec] works on structs: field names and tags say how parameters and results are named. A json tag
// gives the name in both protocols; a query tag gives another name for the Query protocol, and for maps
// the names of keys and values.
//
// Errors are [Fault] values, which have a code, an HTTP status and a text. [FaultOf] maps the errors of
// package queue to them; the functions in errors.go make those of the protocol itself.
//
// Most requests are JSON of a simple form. [Reader] reads them, and a [FastResult] writes its answer,
// without reflection (fastjson.go). Everything else goes to encoding/json with the same meaning; tests
// compare the two.
//
// The package knows no action, connection, signature or place. Its functions and codecs are safe for
// concurrent use; a Reader is not.
package protocol
